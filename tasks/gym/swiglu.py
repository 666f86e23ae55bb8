"""SwiGLU of a row whose first half is the gate."""

import torch
from torch import nn
from torch.nn import functional

AXES = {"rows": (1, 16384), "width": (1, 16384)}
WORKLOADS = [{"rows": 4096, "width": 5632}, {"rows": 33, "width": 1001}]


class Model(nn.Module):
    """The operation."""

    def forward(self, x):
        gate, value = x.chunk(2, -1)
        return functional.silu(gate) * value


def get_inputs(rows, width):
    return [torch.randn(rows, 2 * width)]
