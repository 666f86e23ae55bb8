"""Transposed with a cubic kernel."""

import torch
from torch import nn

SIZES = {
    "full": {"batch": 8, "channels": 48, "space": (48, 48, 48)},
    "small": {"batch": 1, "channels": 2, "space": (5, 5, 5)},
}
SIZE = SIZES["full"]


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = nn.ConvTranspose3d(SIZE["channels"], 24, 3)

    def forward(self, x):
        return self.layer(x)


def get_inputs():
    return [torch.rand(SIZE["batch"], SIZE["channels"], *SIZE["space"])]


def get_init_inputs():
    return []
