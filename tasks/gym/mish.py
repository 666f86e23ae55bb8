"""Mish: x times the tanh of its softplus."""

import torch
from torch import nn
from torch.nn import functional

AXES = {"n": (1, 67108864)}
WORKLOADS = [{"n": 16777216}, {"n": 123457}]


class Model(nn.Module):
    """The operation."""

    def forward(self, x):
        return functional.mish(x)


def get_inputs(n):
    return [torch.randn(n)]
