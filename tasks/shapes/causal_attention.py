"""Causal attention of eight heads in bfloat16, from one token to 32,768."""

import torch
from torch import nn
from torch.nn import functional

AXES = {"batch": (1, 64), "tokens": (1, 32768)}
WORKLOADS = [
    {"batch": 16, "tokens": 1, "protected": True},
    {"batch": 8, "tokens": 128},
    {"batch": 4, "tokens": 1024, "weight": 2, "protected": True},
    {"batch": 1, "tokens": 4096, "weight": 2},
    {"batch": 1, "tokens": 32768},
]
ON_CPU = {"batch": 4, "tokens": 1024}


class Model(nn.Module):
    """The operation."""

    def forward(self, q, k, v):
        return functional.scaled_dot_product_attention(q, k, v, is_causal=True)


def get_inputs(batch, tokens):
    return [
        torch.randn(batch, 8, tokens, 64, dtype=torch.bfloat16),
        torch.randn(batch, 8, tokens, 64, dtype=torch.bfloat16),
        torch.randn(batch, 8, tokens, 64, dtype=torch.bfloat16),
    ]
