"""Maxima of a grid of five by nine."""

import torch
from torch import nn

SIZES = {
    "full": {"batch": 64, "channels": 128, "space": (128, 128)},
    "small": {"batch": 1, "channels": 3, "space": (15, 18)},
}
SIZE = SIZES["full"]


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = nn.AdaptiveMaxPool2d((5, 9))

    def forward(self, x):
        return self.layer(x)


def get_inputs():
    return [torch.rand(SIZE["batch"], SIZE["channels"], *SIZE["space"])]


def get_init_inputs():
    return []
