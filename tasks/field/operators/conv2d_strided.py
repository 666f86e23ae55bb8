"""Stride, padding and dilation differ by axis."""

import torch
from torch import nn

SIZES = {
    "full": {"batch": 16, "channels": 32, "space": (512, 512)},
    "small": {"batch": 1, "channels": 3, "space": (20, 24)},
}
SIZE = SIZES["full"]


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = nn.Conv2d(SIZE["channels"], 64, (3, 5), stride=(2, 1), padding=(1, 2), dilation=(2, 3))

    def forward(self, x):
        return self.layer(x)


def get_inputs():
    return [torch.rand(SIZE["batch"], SIZE["channels"], *SIZE["space"])]


def get_init_inputs():
    return []
