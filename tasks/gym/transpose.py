"""A transposed matrix."""

import torch
from torch import nn

AXES = {"rows": (1, 16384), "columns": (1, 16384)}
WORKLOADS = [{"rows": 4096, "columns": 4096}, {"rows": 333, "columns": 1001}]


class Model(nn.Module):
    """The operation."""

    def forward(self, x):
        return x.t().contiguous()


def get_inputs(rows, columns):
    return [torch.randn(rows, columns)]
