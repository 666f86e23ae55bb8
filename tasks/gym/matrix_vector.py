"""A matrix times a vector."""

import torch
from torch import nn

AXES = {"rows": (1, 32768), "columns": (1, 16384)}
WORKLOADS = [{"rows": 8192, "columns": 8192}, {"rows": 77, "columns": 1003}]


class Model(nn.Module):
    """The operation."""

    def forward(self, a, x):
        return a @ x


def get_inputs(rows, columns):
    return [torch.randn(rows, columns), torch.randn(columns)]
