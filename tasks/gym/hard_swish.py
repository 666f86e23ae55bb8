"""Hard swish."""

import torch
from torch import nn
from torch.nn import functional

AXES = {"n": (1, 67108864)}
WORKLOADS = [{"n": 16777216}, {"n": 999999}]


class Model(nn.Module):
    """The operation."""

    def forward(self, x):
        return functional.hardswish(x)


def get_inputs(n):
    return [4.0 * torch.randn(n)]
