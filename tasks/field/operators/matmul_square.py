"""A square product."""

import torch
from torch import nn

SIZES = {
    "full": {"m": 4096, "k": 4096, "n": 4096},
    "small": {"m": 16, "k": 16, "n": 16},
}
SIZE = SIZES["full"]


class Model(nn.Module):
    def forward(self, a, b):
        return a @ b


def get_inputs():
    return [torch.rand(SIZE["m"], SIZE["k"]), torch.rand(SIZE["k"], SIZE["n"])]


def get_init_inputs():
    return []
