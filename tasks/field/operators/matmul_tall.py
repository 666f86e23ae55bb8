"""Many rows, few columns."""

import torch
from torch import nn

SIZES = {
    "full": {"m": 262144, "k": 256, "n": 64},
    "small": {"m": 64, "k": 8, "n": 4},
}
SIZE = SIZES["full"]


class Model(nn.Module):
    def forward(self, a, b):
        return a @ b


def get_inputs():
    return [torch.rand(SIZE["m"], SIZE["k"]), torch.rand(SIZE["k"], SIZE["n"])]


def get_init_inputs():
    return []
