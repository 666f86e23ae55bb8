"""A product in every batch."""

import torch
from torch import nn

SIZES = {
    "full": {"m": 512, "k": 1024, "n": 2048, "batch": 64},
    "small": {"m": 8, "k": 6, "n": 7, "batch": 3},
}
SIZE = SIZES["full"]


class Model(nn.Module):
    def forward(self, a, b):
        return torch.bmm(a, b)


def get_inputs():
    return [torch.rand(SIZE["batch"], SIZE["m"], SIZE["k"]), torch.rand(SIZE["batch"], SIZE["k"], SIZE["n"])]


def get_init_inputs():
    return []
