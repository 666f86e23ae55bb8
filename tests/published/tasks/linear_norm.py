import torch
from torch import nn


class Model(nn.Module):
    """A layer whose normalisation begins with a scale of ones and a shift of zeros."""

    def __init__(self, width, out):
        super().__init__()
        self.linear = nn.Linear(width, out)
        self.norm = nn.LayerNorm(out)

    def forward(self, x):
        return torch.relu(self.norm(self.linear(x)))


def get_inputs():
    return [torch.randn(512, 256)]


def get_init_inputs():
    return [256, 512]
