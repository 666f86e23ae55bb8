import torch
from torch import nn

COMPARATORS = {0: "exact"}


class Model(nn.Module):
    def forward(self, x):
        return torch.flip(x, (1,))


def get_inputs():
    return [torch.randn(64, 96)]
