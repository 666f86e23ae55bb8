"""A transposed matrix; in Gluon."""

import torch
from torch import nn

PART = "DSL"
AXES = {"rows": (1, 16384), "columns": (1, 16384)}
WORKLOADS = [{"rows": 4096, "columns": 4096}, {"rows": 100, "columns": 333}]


class Model(nn.Module):
    """The operation."""

    def forward(self, x):
        return x.t().contiguous()


def get_inputs(rows, columns):
    return [torch.randn(rows, columns)]
