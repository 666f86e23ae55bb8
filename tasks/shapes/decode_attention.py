"""One new token of each sequence against a cache of keys and values, in bfloat16."""

import torch
from torch import nn
from torch.nn import functional

AXES = {"batch": (1, 64), "tokens": (1, 32768)}
WORKLOADS = [
    {"batch": 1, "tokens": 512, "protected": True},
    {"batch": 16, "tokens": 1024, "weight": 2},
    {"batch": 64, "tokens": 2048},
    {"batch": 8, "tokens": 8192},
    {"batch": 1, "tokens": 32768},
]
ON_CPU = {"batch": 4, "tokens": 1024}


class Model(nn.Module):
    """The operation."""

    def forward(self, q, k, v):
        return functional.scaled_dot_product_attention(q, k, v)


def get_inputs(batch, tokens):
    return [
        torch.randn(batch, 8, 1, 64, dtype=torch.bfloat16),
        torch.randn(batch, 8, tokens, 64, dtype=torch.bfloat16),
        torch.randn(batch, 8, tokens, 64, dtype=torch.bfloat16),
    ]
