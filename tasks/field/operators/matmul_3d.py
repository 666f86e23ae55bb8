"""A matrix behind three dimensions."""

import torch
from torch import nn

SIZES = {
    "full": {"m": 1024, "k": 2048, "n": 768, "batch": 16},
    "small": {"m": 8, "k": 6, "n": 7, "batch": 3},
}
SIZE = SIZES["full"]


class Model(nn.Module):
    def forward(self, a, b):
        return a @ b


def get_inputs():
    return [torch.rand(SIZE["batch"], SIZE["m"], SIZE["k"]), torch.rand(SIZE["k"], SIZE["n"])]


def get_init_inputs():
    return []
