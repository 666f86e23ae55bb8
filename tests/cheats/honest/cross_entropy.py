import torch
from torch import nn


class Model(nn.Module):
    def forward(self, x, y):
        return nn.functional.cross_entropy(x, y)


def get_inputs():
    return [torch.randn(50, 20), torch.randint(0, 20, (50,))]
