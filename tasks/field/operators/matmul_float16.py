"""A product in half precision."""

import torch
from torch import nn

SIZES = {
    "full": {"m": 8192, "k": 4096, "n": 8192},
    "small": {"m": 16, "k": 24, "n": 16},
}
SIZE = SIZES["full"]


class Model(nn.Module):
    def forward(self, a, b):
        return a @ b


def get_inputs():
    return [
        torch.randn(SIZE["m"], SIZE["k"], dtype=torch.float16),
        torch.randn(SIZE["k"], SIZE["n"], dtype=torch.float16),
    ]


def get_init_inputs():
    return []
