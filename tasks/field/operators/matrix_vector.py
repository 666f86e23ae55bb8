"""A matrix by a vector."""

import torch
from torch import nn

SIZES = {
    "full": {"m": 2048, "k": 1048576},
    "small": {"m": 16, "k": 200},
}
SIZE = SIZES["full"]


class Model(nn.Module):
    def forward(self, a, b):
        return a @ b


def get_inputs():
    return [torch.rand(SIZE["m"], SIZE["k"]), torch.rand(SIZE["k"], 1)]


def get_init_inputs():
    return []
