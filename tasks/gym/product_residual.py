"""A product of single precision, with a residual added."""

import torch
from torch import nn

AXES = {"rows": (1, 4096), "width": (16, 4096), "features": (16, 4096)}
WORKLOADS = [{"rows": 1024, "width": 1024, "features": 1024}, {"rows": 65, "width": 77, "features": 99}]


class Model(nn.Module):
    """The operation."""

    def forward(self, x, weight, residual):
        return x @ weight + residual


def get_inputs(rows, width, features):
    return [torch.randn(rows, width), torch.randn(width, features), torch.randn(rows, features)]
