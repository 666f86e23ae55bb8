import torch
from torch import nn


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.weight = nn.Parameter(torch.randn(4, 3, 5))

    def forward(self, x):
        return nn.functional.conv1d(x, self.weight)


def get_inputs():
    return [torch.randn(2, 3, 40)]
