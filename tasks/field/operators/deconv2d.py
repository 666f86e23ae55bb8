"""Transposed, square."""

import torch
from torch import nn

SIZES = {
    "full": {"batch": 8, "channels": 32, "space": (512, 512)},
    "small": {"batch": 1, "channels": 3, "space": (9, 9)},
}
SIZE = SIZES["full"]


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = nn.ConvTranspose2d(SIZE["channels"], 32, 3)

    def forward(self, x):
        return self.layer(x)


def get_inputs():
    return [torch.rand(SIZE["batch"], SIZE["channels"], *SIZE["space"])]


def get_init_inputs():
    return []
