"""No size is a multiple of anything."""

import torch
from torch import nn

SIZES = {
    "full": {"m": 8205, "k": 2949, "n": 5921},
    "small": {"m": 17, "k": 13, "n": 11},
}
SIZE = SIZES["full"]


class Model(nn.Module):
    def forward(self, a, b):
        return a @ b


def get_inputs():
    return [torch.rand(SIZE["m"], SIZE["k"]), torch.rand(SIZE["k"], SIZE["n"])]


def get_init_inputs():
    return []
