import torch
from torch import nn


class Model(nn.Module):
    def forward(self, x, y):
        return torch.cat([x, y], 0) + 1


def get_inputs():
    return [torch.randn(5, 4), torch.zeros(0, 4)]
