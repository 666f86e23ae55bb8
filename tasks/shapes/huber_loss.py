"""The Huber loss of each row."""

import torch
from torch import nn
from torch.nn import functional

AXES = {"rows": (1, 65536), "columns": (1, 65536)}
WORKLOADS = [
    {"rows": 1, "columns": 4096, "protected": True},
    {"rows": 128, "columns": 1024},
    {"rows": 4096, "columns": 4096, "weight": 2},
    {"rows": 333, "columns": 777},
]
ON_CPU = {"rows": 1024, "columns": 4096}


class Model(nn.Module):
    """The operation."""

    def forward(self, x, y):
        return functional.huber_loss(x, y, reduction="none").mean(-1)


def get_inputs(rows, columns):
    return [torch.randn(rows, columns), torch.randn(rows, columns)]
