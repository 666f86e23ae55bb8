"""Dropout by a mask that is an input, scaled, with a residual added."""

import torch
from torch import nn

AXES = {"n": (1, 67108864)}
WORKLOADS = [{"n": 16777216}, {"n": 98765}]


class Model(nn.Module):
    """The operation."""

    def forward(self, x, kept, residual):
        return torch.where(kept, x / 0.9, 0.0) + residual


def get_inputs(n):
    return [torch.randn(n), torch.rand(n) > 0.1, torch.randn(n)]
