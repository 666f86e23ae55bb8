"""The residual stream and its RMSNorm, both results."""

import torch
from torch import nn

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

    def __init__(self, hidden):
        super().__init__()
        self.weight = nn.Parameter(torch.rand(hidden))

    def forward(self, x, y):
        total = x + y
        return total, total * torch.rsqrt(total.pow(2).mean(-1, keepdim=True) + 1e-6) * self.weight


def get_inputs(rows, hidden):
    return [torch.randn(rows, hidden), torch.randn(rows, hidden)]


def get_init_inputs(hidden):
    return [hidden]
