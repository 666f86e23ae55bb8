"""Layer normalisation with scale and shift."""

import torch
from torch import nn
from torch.nn import functional

AXES = {"rows": (1, 65536), "hidden": (64, 16384, 64)}
WORKLOADS = [
    {"rows": 16, "hidden": 4096, "weight": 2, "protected": True},
    {"rows": 128, "hidden": 4096, "weight": 2},
    {"rows": 2048, "hidden": 4096},
    {"rows": 2048, "hidden": 8192},
    {"rows": 16384, "hidden": 1024},
]
ON_CPU = {"rows": 2048, "hidden": 4096}


class Model(nn.Module):
    """The operation."""

    def __init__(self, hidden):
        super().__init__()
        self.weight = nn.Parameter(torch.rand(hidden))
        self.bias = nn.Parameter(torch.randn(hidden))

    def forward(self, x):
        return functional.layer_norm(x, x.shape[-1:], self.weight, self.bias, 1e-5)


def get_inputs(rows, hidden):
    return [torch.randn(rows, hidden)]


def get_init_inputs(hidden):
    return [hidden]
