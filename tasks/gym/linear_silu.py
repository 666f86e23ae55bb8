"""A product with a transposed weight and a bias, then SiLU, in half precision."""

import torch
from torch import nn
from torch.nn import functional

AXES = {"rows": (1, 8192), "width": (16, 8192), "features": (16, 8192)}
WORKLOADS = [{"rows": 2048, "width": 2048, "features": 2048}, {"rows": 100, "width": 75, "features": 131}]


class Model(nn.Module):
    """The operation."""

    def forward(self, x, weight, bias):
        return functional.silu(functional.linear(x, weight, bias).float()).half()


def get_inputs(rows, width, features):
    return [
        torch.randn(rows, width).half(),
        (torch.randn(features, width) / width**0.5).half(),
        torch.randn(features).half(),
    ]
