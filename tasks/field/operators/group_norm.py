"""Statistics of groups of channels."""

import torch
from torch import nn

SIZES = {
    "full": {"batch": 64, "channels": 64, "space": (512, 512)},
    "small": {"batch": 2, "channels": 16, "space": (6, 6)},
}
SIZE = SIZES["full"]


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = nn.GroupNorm(8, SIZE["channels"])

    def forward(self, x):
        return self.layer(x)


def get_inputs():
    return [torch.rand(SIZE["batch"], SIZE["channels"], *SIZE["space"])]


def get_init_inputs():
    return []
