"""Statistics of a whole slab of four million elements."""

import torch
from torch import nn

SIZES = {
    "full": {"batch": 32, "channels": 64, "space": (256, 256)},
    "small": {"batch": 3, "channels": 4, "space": (6, 6)},
}
SIZE = SIZES["full"]


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = nn.LayerNorm([SIZE["channels"], *SIZE["space"]])

    def forward(self, x):
        return self.layer(x)


def get_inputs():
    return [torch.rand(SIZE["batch"], SIZE["channels"], *SIZE["space"])]


def get_init_inputs():
    return []
