"""The mean squared error of all elements."""

import torch
from torch import nn
from torch.nn import functional

AXES = {"rows": (1, 65536), "columns": (1, 65536)}
WORKLOADS = [
    {"rows": 1, "columns": 4096, "protected": True},
    {"rows": 64, "columns": 1024},
    {"rows": 1024, "columns": 4096, "weight": 2},
    {"rows": 8192, "columns": 8192},
    {"rows": 333, "columns": 777},
]
ON_CPU = {"rows": 1024, "columns": 4096}


class Model(nn.Module):
    """The operation."""

    def forward(self, x, y):
        return functional.mse_loss(x, y)


def get_inputs(rows, columns):
    return [torch.randn(rows, columns), torch.randn(rows, columns)]
