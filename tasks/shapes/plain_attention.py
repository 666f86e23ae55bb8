"""Scores, softmax and values as three operations, in float32."""

import torch
from torch import nn

AXES = {"batch": (1, 64), "tokens": (1, 32768)}
WORKLOADS = [
    {"batch": 16, "tokens": 64},
    {"batch": 4, "tokens": 512, "weight": 2, "protected": True},
    {"batch": 1, "tokens": 2048},
    {"batch": 2, "tokens": 1024},
]
ON_CPU = {"batch": 4, "tokens": 1024}


class Model(nn.Module):
    """The operation."""

    def forward(self, q, k, v):
        return torch.softmax(q @ k.transpose(-1, -2) * 0.125, -1) @ v


def get_inputs(batch, tokens):
    return [torch.randn(batch, 8, tokens, 64), torch.randn(batch, 8, tokens, 64), torch.randn(batch, 8, tokens, 64)]
