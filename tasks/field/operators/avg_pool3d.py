"""A mean over cubes."""

import torch
from torch import nn

SIZES = {
    "full": {"batch": 16, "channels": 32, "space": (128, 128, 128)},
    "small": {"batch": 1, "channels": 2, "space": (8, 8, 8)},
}
SIZE = SIZES["full"]


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = nn.AvgPool3d(3, stride=2, padding=1)

    def forward(self, x):
        return self.layer(x)


def get_inputs():
    return [torch.rand(SIZE["batch"], SIZE["channels"], *SIZE["space"])]


def get_init_inputs():
    return []
