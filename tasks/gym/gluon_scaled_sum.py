"""A vector and another one, scaled; in Gluon."""

import torch
from torch import nn

PART = "DSL"
AXES = {"n": (1, 67108864)}
WORKLOADS = [{"n": 16777216}, {"n": 1000003}]


class Model(nn.Module):
    """The operation."""

    def forward(self, x, y):
        return x + 0.5 * y


def get_inputs(n):
    return [torch.randn(n), torch.randn(n)]
