"""A product for each of a batch, in half precision."""

import torch
from torch import nn

AXES = {"batch": (1, 256), "rows": (1, 1024), "width": (16, 1024), "features": (16, 1024)}
WORKLOADS = [
    {"batch": 64, "rows": 512, "width": 256, "features": 512},
    {"batch": 3, "rows": 33, "width": 50, "features": 70},
]


class Model(nn.Module):
    """The operation."""

    def forward(self, a, b):
        return a @ b


def get_inputs(batch, rows, width, features):
    return [
        torch.randn(batch, rows, width).half(),
        (torch.randn(batch, width, features) / width**0.5).half(),
    ]
