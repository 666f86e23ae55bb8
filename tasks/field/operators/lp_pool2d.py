"""A norm over windows."""

import torch
from torch import nn

SIZES = {
    "full": {"batch": 16, "channels": 64, "space": (512, 512)},
    "small": {"batch": 1, "channels": 3, "space": (12, 12)},
}
SIZE = SIZES["full"]


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = nn.LPPool2d(2, 3, stride=2)

    def forward(self, x):
        return self.layer(x)


def get_inputs():
    return [torch.rand(SIZE["batch"], SIZE["channels"], *SIZE["space"])]


def get_init_inputs():
    return []
