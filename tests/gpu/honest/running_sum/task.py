import torch
from torch import nn


class Model(nn.Module):
    def forward(self, x):
        return torch.cumsum(x, 1)


def get_inputs():
    return [torch.randn(2048, 1000)]
