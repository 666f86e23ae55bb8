"""A kernel of 5 by 9."""

import torch
from torch import nn

SIZES = {
    "full": {"batch": 8, "channels": 32, "space": (512, 256)},
    "small": {"batch": 1, "channels": 3, "space": (12, 14)},
}
SIZE = SIZES["full"]


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = nn.Conv2d(SIZE["channels"], 64, (5, 9), padding=(2, 4))

    def forward(self, x):
        return self.layer(x)


def get_inputs():
    return [torch.rand(SIZE["batch"], SIZE["channels"], *SIZE["space"])]


def get_init_inputs():
    return []
