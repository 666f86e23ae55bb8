"""SwiGLU of two halves that lie apart, in bfloat16."""

import torch
from torch import nn
from torch.nn import functional

AXES = {"rows": (1, 65536), "hidden": (64, 16384, 64)}
WORKLOADS = [
    {"rows": 1, "hidden": 4096, "weight": 3, "protected": True},
    {"rows": 16, "hidden": 4096, "weight": 2, "protected": True},
    {"rows": 128, "hidden": 4096, "weight": 2},
    {"rows": 2048, "hidden": 4096},
    {"rows": 2048, "hidden": 8192},
    {"rows": 16384, "hidden": 1024},
]
ON_CPU = {"rows": 2048, "hidden": 4096}


class Model(nn.Module):
    """The operation."""

    def forward(self, x, y):
        return functional.silu(x) * y


def get_inputs(rows, hidden):
    return [torch.randn(rows, hidden, dtype=torch.bfloat16), torch.randn(rows, hidden, dtype=torch.bfloat16)]
