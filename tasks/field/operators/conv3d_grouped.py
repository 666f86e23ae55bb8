"""Strided, in groups."""

import torch
from torch import nn

SIZES = {
    "full": {"batch": 8, "channels": 16, "space": (48, 96, 96)},
    "small": {"batch": 1, "channels": 4, "space": (8, 8, 8)},
}
SIZE = SIZES["full"]


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = nn.Conv3d(SIZE["channels"], 32, 3, stride=2, padding=1, groups=4)

    def forward(self, x):
        return self.layer(x)


def get_inputs():
    return [torch.rand(SIZE["batch"], SIZE["channels"], *SIZE["space"])]


def get_init_inputs():
    return []
