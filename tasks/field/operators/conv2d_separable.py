"""Depthwise, then pointwise."""

import torch
from torch import nn

SIZES = {
    "full": {"batch": 16, "channels": 64, "side": 512},
    "small": {"batch": 1, "channels": 4, "side": 12},
}
SIZE = SIZES["full"]


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.depth = nn.Conv2d(SIZE["channels"], SIZE["channels"], 3, padding=1, groups=SIZE["channels"])
        self.point = nn.Conv2d(SIZE["channels"], 128, 1)

    def forward(self, x):
        return self.point(self.depth(x))


def get_inputs():
    return [torch.rand(SIZE["batch"], SIZE["channels"], SIZE["side"], SIZE["side"])]


def get_init_inputs():
    return []
