"""A square product in bfloat16."""

import torch
from torch import nn

SIZES = {
    "full": {"m": 8192, "k": 8192, "n": 8192},
    "small": {"m": 16, "k": 24, "n": 16},
}
SIZE = SIZES["full"]


class Model(nn.Module):
    def forward(self, a, b):
        return a @ b


def get_inputs():
    return [
        torch.randn(SIZE["m"], SIZE["k"], dtype=torch.bfloat16),
        torch.randn(SIZE["k"], SIZE["n"], dtype=torch.bfloat16),
    ]


def get_init_inputs():
    return []
