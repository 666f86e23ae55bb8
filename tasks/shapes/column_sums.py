"""The sums of columns, and their largest elements."""

import torch
from torch import nn

AXES = {"rows": (1, 65536), "columns": (1, 16384)}
WORKLOADS = [
    {"rows": 64, "columns": 4096, "protected": True},
    {"rows": 1024, "columns": 1024, "weight": 2},
    {"rows": 8192, "columns": 512},
    {"rows": 65536, "columns": 64},
    {"rows": 777, "columns": 333},
]
ON_CPU = {"rows": 2048, "columns": 1024}


class Model(nn.Module):
    """The operation."""

    def forward(self, x):
        return x.sum(0), x.amax(0)


def get_inputs(rows, columns):
    return [torch.randn(rows, columns)]
