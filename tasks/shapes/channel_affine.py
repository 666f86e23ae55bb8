"""A scale and a shift for each channel of images, and a residual."""

import torch
from torch import nn

AXES = {"batch": (1, 256), "height": (4, 256), "width": (4, 256)}
WORKLOADS = [
    {"batch": 1, "height": 56, "width": 56, "protected": True},
    {"batch": 32, "height": 56, "width": 56},
    {"batch": 128, "height": 14, "width": 14},
    {"batch": 8, "height": 112, "width": 96},
]
ON_CPU = {"batch": 8, "height": 56, "width": 56}


class Model(nn.Module):
    """The operation."""

    def forward(self, x, y, scale, shift):
        return torch.relu(x * scale[:, None, None] + shift[:, None, None] + y)


def get_inputs(batch, height, width):
    return [
        torch.randn(batch, 64, height, width),
        torch.randn(batch, 64, height, width),
        torch.randn(64),
        torch.randn(64),
    ]
