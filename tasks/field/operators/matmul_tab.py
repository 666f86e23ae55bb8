"""Both factors transposed."""

import torch
from torch import nn

SIZES = {
    "full": {"m": 2048, "k": 8192, "n": 4096},
    "small": {"m": 12, "k": 16, "n": 8},
}
SIZE = SIZES["full"]


class Model(nn.Module):
    def forward(self, a, b):
        return a.T @ b.T


def get_inputs():
    return [torch.rand(SIZE["k"], SIZE["m"]), torch.rand(SIZE["n"], SIZE["k"])]


def get_init_inputs():
    return []
