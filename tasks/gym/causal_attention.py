"""Causal attention of heads 64 wide, in half precision."""

import torch
from torch import nn
from torch.nn import functional

AXES = {"heads": (1, 256), "steps": (1, 4096)}
WORKLOADS = [{"heads": 64, "steps": 1024}, {"heads": 3, "steps": 77}]


class Model(nn.Module):
    """The operation."""

    def forward(self, q, k, v):
        return functional.scaled_dot_product_attention(q, k, v, is_causal=True)


def get_inputs(heads, steps):
    return [
        torch.randn(1, heads, steps, 64).half(),
        torch.randn(1, heads, steps, 64).half(),
        torch.randn(1, heads, steps, 64).half(),
    ]
