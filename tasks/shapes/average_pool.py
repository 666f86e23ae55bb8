"""The mean of windows of two."""

import torch
from torch import nn
from torch.nn import functional

AXES = {"batch": (1, 256), "height": (8, 256), "width": (8, 256)}
WORKLOADS = [
    {"batch": 1, "height": 56, "width": 56, "protected": True},
    {"batch": 32, "height": 56, "width": 56, "weight": 2},
    {"batch": 64, "height": 28, "width": 28},
    {"batch": 8, "height": 112, "width": 96},
    {"batch": 3, "height": 33, "width": 47},
]
ON_CPU = {"batch": 8, "height": 56, "width": 56}


class Model(nn.Module):
    """The operation."""

    def forward(self, x):
        return functional.avg_pool2d(x, 2)


def get_inputs(batch, height, width):
    return [torch.randn(batch, 32, height, width)]
