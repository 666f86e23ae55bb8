"""A short inner dimension and a large result."""

import torch
from torch import nn

SIZES = {
    "full": {"m": 32768, "k": 64, "n": 32768},
    "small": {"m": 40, "k": 4, "n": 40},
}
SIZE = SIZES["full"]


class Model(nn.Module):
    def forward(self, a, b):
        return a @ b


def get_inputs():
    return [torch.rand(SIZE["m"], SIZE["k"]), torch.rand(SIZE["k"], SIZE["n"])]


def get_init_inputs():
    return []
