import torch
from torch import nn


class Model(nn.Module):
    def forward(self, x, row, column):
        return x * row + column


def get_inputs():
    return [torch.randn(30, 50), torch.randn(50), torch.randn(30, 1)]
