"""A matrix behind four dimensions, by einsum."""

import torch
from torch import nn

SIZES = {
    "full": {"m": 512, "k": 256, "n": 768, "batch": 8},
    "small": {"m": 5, "k": 6, "n": 7, "batch": 2},
}
SIZE = SIZES["full"]


class Model(nn.Module):
    def forward(self, a, b):
        return torch.einsum("bijl,lk->bijk", a, b)


def get_inputs():
    return [torch.rand(SIZE["batch"], 256, SIZE["m"], SIZE["k"]), torch.rand(SIZE["k"], SIZE["n"])]


def get_init_inputs():
    return []
