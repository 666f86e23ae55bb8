"""Rows, or channels, by their root mean square."""

import torch
from torch import nn

SIZES = {
    "full": {"batch": 64, "channels": 64, "side": 512},
    "small": {"batch": 2, "channels": 5, "side": 6},
}
SIZE = SIZES["full"]


class Model(nn.Module):
    def forward(self, x):
        return x / torch.sqrt(x.pow(2).mean(dim=1, keepdim=True) + 1e-5)


def get_inputs():
    return [torch.rand(SIZE["batch"], SIZE["channels"], SIZE["side"], SIZE["side"])]


def get_init_inputs():
    return []
