"""Transposed along one axis."""

import torch
from torch import nn

SIZES = {
    "full": {"batch": 32, "channels": 64, "space": (32768,)},
    "small": {"batch": 2, "channels": 3, "space": (24,)},
}
SIZE = SIZES["full"]


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = nn.ConvTranspose1d(SIZE["channels"], 64, 5, stride=2, padding=3, dilation=2)

    def forward(self, x):
        return self.layer(x)


def get_inputs():
    return [torch.rand(SIZE["batch"], SIZE["channels"], *SIZE["space"])]


def get_init_inputs():
    return []
