import torch
from torch import nn


class Model(nn.Module):
    def forward(self, x):
        return torch.argsort(x, 1)


def get_inputs():
    return [torch.randint(0, 7, (16, 25)).float() - 3]
