"""A convolution of one by one with a bias and a ReLU, in half precision."""

import torch
from torch import nn
from torch.nn import functional

AXES = {"batch": (1, 32), "channels": (16, 512), "filters": (16, 512), "places": (1, 4096)}
WORKLOADS = [
    {"batch": 8, "channels": 256, "filters": 128, "places": 3136},
    {"batch": 2, "channels": 33, "filters": 65, "places": 49},
]


class Model(nn.Module):
    """The operation."""

    def forward(self, x, weight, bias):
        return functional.relu(functional.conv1d(x, weight[..., None], bias))


def get_inputs(batch, channels, filters, places):
    return [
        torch.randn(batch, channels, places).half(),
        (torch.randn(filters, channels) / channels**0.5).half(),
        torch.randn(filters).half(),
    ]
