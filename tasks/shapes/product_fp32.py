"""A product of two matrices in float32."""

import torch
from torch import nn

AXES = {"m": (1, 8192), "k": (64, 8192, 64), "n": (64, 8192, 64)}
WORKLOADS = [
    {"m": 1, "k": 4096, "n": 4096, "weight": 2, "protected": True},
    {"m": 64, "k": 2048, "n": 2048},
    {"m": 512, "k": 1024, "n": 1024, "weight": 2},
    {"m": 2048, "k": 2048, "n": 1024},
    {"m": 333, "k": 448, "n": 576},
]
ON_CPU = {"m": 512, "k": 1024, "n": 1024}


class Model(nn.Module):
    """The operation."""

    def forward(self, x, y):
        return x @ y


def get_inputs(m, k, n):
    return [torch.randn(m, k), torch.randn(k, n)]
