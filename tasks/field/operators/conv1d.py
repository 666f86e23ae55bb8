"""A convolution along one axis."""

import torch
from torch import nn

SIZES = {
    "full": {"batch": 32, "channels": 64, "space": (131072,)},
    "small": {"batch": 2, "channels": 3, "space": (40,)},
}
SIZE = SIZES["full"]


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = nn.Conv1d(SIZE["channels"], 128, 3)

    def forward(self, x):
        return self.layer(x)


def get_inputs():
    return [torch.rand(SIZE["batch"], SIZE["channels"], *SIZE["space"])]


def get_init_inputs():
    return []
