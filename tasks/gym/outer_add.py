"""A column and a row, multiplied to a matrix, and a matrix added."""

import torch
from torch import nn

AXES = {"rows": (1, 16384), "columns": (1, 16384)}
WORKLOADS = [{"rows": 4096, "columns": 4096}, {"rows": 511, "columns": 1025}]


class Model(nn.Module):
    """The operation."""

    def forward(self, a, b, c):
        return a[:, None] * b[None, :] + c


def get_inputs(rows, columns):
    return [torch.randn(rows), torch.randn(columns), torch.randn(rows, columns)]
