"""A linear layer and GELU in bfloat16."""

import torch
from torch import nn
from torch.nn import functional

AXES = {"m": (1, 8192), "k": (64, 8192, 64), "n": (64, 8192, 64)}
WORKLOADS = [
    {"m": 96, "k": 512, "n": 256, "weight": 0},
    {"m": 200, "k": 256, "n": 768, "weight": 0},
    {"m": 320, "k": 896, "n": 640, "weight": 0},
    {"m": 1, "k": 4096, "n": 4096, "weight": 3, "protected": True},
    {"m": 16, "k": 4096, "n": 4096, "weight": 2},
    {"m": 128, "k": 4096, "n": 4096},
    {"m": 1024, "k": 4096, "n": 1024},
    {"m": 4096, "k": 1024, "n": 4096},
    {"m": 8192, "k": 2048, "n": 2048},
]
ON_CPU = {"m": 512, "k": 1024, "n": 1024}


class Model(nn.Module):
    """The operation."""

    def __init__(self, k, n):
        super().__init__()
        self.weight = nn.Parameter(torch.randn(n, k, dtype=torch.bfloat16) * k**-0.5)
        self.bias = nn.Parameter(torch.randn(n, dtype=torch.bfloat16))

    def forward(self, x):
        return functional.gelu(functional.linear(x, self.weight, self.bias))


def get_inputs(m, k):
    return [torch.randn(m, k, dtype=torch.bfloat16)]


def get_init_inputs(k, n):
    return [k, n]
