"""Every pair of two vectors, added, through tanh."""

import torch
from torch import nn

AXES = {"rows": (1, 16384), "columns": (1, 16384)}
WORKLOADS = [
    {"rows": 1, "columns": 4096, "protected": True},
    {"rows": 256, "columns": 256},
    {"rows": 2048, "columns": 2048, "weight": 2},
    {"rows": 8192, "columns": 4096},
    {"rows": 333, "columns": 777},
]
ON_CPU = {"rows": 1024, "columns": 2048}


class Model(nn.Module):
    """The operation."""

    def forward(self, x, y):
        return torch.tanh(x[:, None] + y[None, :])


def get_inputs(rows, columns):
    return [torch.randn(rows), torch.randn(columns)]
