"""The sum of squares of a vector, as clipping of gradients asks for it."""

import torch
from torch import nn

AXES = {"n": (1, 33554432)}
WORKLOADS = [{"n": 16777216}, {"n": 54321}]


class Model(nn.Module):
    """The operation."""

    def forward(self, x):
        return (x * x).sum()


def get_inputs(n):
    return [torch.randn(n)]
