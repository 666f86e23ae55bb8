"""Group normalisation of images and SiLU, as diffusion models have it."""

import torch
from torch import nn
from torch.nn import functional

AXES = {"batch": (1, 64), "height": (8, 256), "width": (8, 256)}
WORKLOADS = [
    {"batch": 1, "height": 64, "width": 64, "weight": 2, "protected": True},
    {"batch": 2, "height": 32, "width": 32},
    {"batch": 8, "height": 16, "width": 16},
    {"batch": 1, "height": 128, "width": 128},
    {"batch": 4, "height": 48, "width": 80},
]
ON_CPU = {"height": 64, "width": 64}


class Model(nn.Module):
    """The operation."""

    def __init__(self):
        super().__init__()
        self.weight = nn.Parameter(torch.rand(64))
        self.bias = nn.Parameter(torch.randn(64))

    def forward(self, x):
        return functional.silu(functional.group_norm(x, 8, self.weight, self.bias, 1e-5))


def get_inputs(batch, height, width):
    return [torch.randn(batch, 64, height, width)]


def get_init_inputs():
    return []
