"""A long inner dimension."""

import torch
from torch import nn

SIZES = {
    "full": {"m": 256, "k": 524288, "n": 256},
    "small": {"m": 8, "k": 300, "n": 8},
}
SIZE = SIZES["full"]


class Model(nn.Module):
    def forward(self, a, b):
        return a @ b


def get_inputs():
    return [torch.rand(SIZE["m"], SIZE["k"]), torch.rand(SIZE["k"], SIZE["n"])]


def get_init_inputs():
    return []
