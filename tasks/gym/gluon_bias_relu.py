"""A bias for each column, then ReLU; in Gluon."""

import torch
from torch import nn

PART = "DSL"
AXES = {"rows": (1, 16384), "columns": (1, 16384)}
WORKLOADS = [{"rows": 4096, "columns": 4096}, {"rows": 77, "columns": 1001}]


class Model(nn.Module):
    """The operation."""

    def forward(self, x, bias):
        return torch.relu(x + bias)


def get_inputs(rows, columns):
    return [torch.randn(rows, columns), torch.randn(columns)]
