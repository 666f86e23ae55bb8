"""A scale for each row, a shift for each column, and a clamp."""

import torch
from torch import nn

AXES = {"rows": (1, 65536), "hidden": (64, 16384, 64)}
WORKLOADS = [
    {"rows": 16, "hidden": 4096, "weight": 2, "protected": True},
    {"rows": 128, "hidden": 4096, "weight": 2},
    {"rows": 2048, "hidden": 4096},
    {"rows": 2048, "hidden": 8192},
    {"rows": 16384, "hidden": 1024},
]
ON_CPU = {"rows": 2048, "hidden": 4096}


class Model(nn.Module):
    """The operation."""

    def forward(self, x, scale, shift):
        return (x * scale + shift).clamp(-1.5, 1.5)


def get_inputs(rows, hidden):
    return [torch.randn(rows, hidden), torch.randn(rows, 1), torch.randn(hidden)]
