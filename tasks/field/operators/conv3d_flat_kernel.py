"""A kernel of 3 by 5 by 7."""

import torch
from torch import nn

SIZES = {
    "full": {"batch": 16, "channels": 3, "space": (16, 128, 128)},
    "small": {"batch": 1, "channels": 2, "space": (6, 9, 10)},
}
SIZE = SIZES["full"]


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = nn.Conv3d(SIZE["channels"], 64, (3, 5, 7))

    def forward(self, x):
        return self.layer(x)


def get_inputs():
    return [torch.rand(SIZE["batch"], SIZE["channels"], *SIZE["space"])]


def get_init_inputs():
    return []
