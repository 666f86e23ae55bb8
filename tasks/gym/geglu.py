"""The exact GELU of one matrix gates another one."""

import torch
from torch import nn
from torch.nn import functional

AXES = {"n": (1, 67108864)}
WORKLOADS = [{"n": 16777216}, {"n": 1000003}]


class Model(nn.Module):
    """The operation."""

    def forward(self, gate, value):
        return functional.gelu(gate) * value


def get_inputs(n):
    return [torch.randn(n), torch.randn(n)]
