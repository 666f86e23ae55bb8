"""Softmax of scaled scores where a mask lets them be."""

import torch
from torch import nn

AXES = {"rows": (1, 16384), "columns": (32, 32768)}
WORKLOADS = [
    {"rows": 8192, "columns": 128},
    {"rows": 4096, "columns": 512, "weight": 2, "protected": True},
    {"rows": 2048, "columns": 2048, "weight": 2},
    {"rows": 1024, "columns": 8192},
    {"rows": 64, "columns": 32768},
]
ON_CPU = {"rows": 1024, "columns": 32768}


class Model(nn.Module):
    """The operation."""

    def forward(self, x, mask):
        return torch.softmax((x * 0.125).masked_fill(mask, -1e4), -1)


def get_inputs(rows, columns):
    return [torch.randn(rows, columns), torch.rand(rows, columns) < 0.3]
