"""Products of pairs of matrices in bfloat16."""

import torch
from torch import nn

AXES = {"batch": (1, 256), "m": (1, 2048), "k": (16, 1024, 16), "n": (16, 1024, 16)}
WORKLOADS = [
    {"batch": 8, "m": 512, "k": 64, "n": 512, "weight": 2, "protected": True},
    {"batch": 64, "m": 128, "k": 128, "n": 128},
    {"batch": 16, "m": 1, "k": 128, "n": 1024},
    {"batch": 4, "m": 1024, "k": 512, "n": 1024},
]
ON_CPU = {"batch": 8, "m": 256, "k": 256, "n": 256}


class Model(nn.Module):
    """The operation."""

    def forward(self, x, y):
        return torch.bmm(x, y)


def get_inputs(batch, m, k, n):
    return [torch.randn(batch, m, k, dtype=torch.bfloat16), torch.randn(batch, k, n, dtype=torch.bfloat16)]
