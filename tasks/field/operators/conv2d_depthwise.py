"""Each channel by itself."""

import torch
from torch import nn

SIZES = {
    "full": {"batch": 64, "channels": 128, "space": (256, 512)},
    "small": {"batch": 2, "channels": 4, "space": (12, 12)},
}
SIZE = SIZES["full"]


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = nn.Conv2d(SIZE["channels"], SIZE["channels"], 3, groups=SIZE["channels"])

    def forward(self, x):
        return self.layer(x)


def get_inputs():
    return [torch.rand(SIZE["batch"], SIZE["channels"], *SIZE["space"])]


def get_init_inputs():
    return []
