"""Transposed with output padding and dilation."""

import torch
from torch import nn

SIZES = {
    "full": {"batch": 16, "channels": 32, "space": (64, 128)},
    "small": {"batch": 1, "channels": 3, "space": (6, 7)},
}
SIZE = SIZES["full"]


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = nn.ConvTranspose2d(SIZE["channels"], 64, 3, stride=5, padding=1, dilation=2, output_padding=2)

    def forward(self, x):
        return self.layer(x)


def get_inputs():
    return [torch.rand(SIZE["batch"], SIZE["channels"], *SIZE["space"])]


def get_init_inputs():
    return []
