"""Each channel by itself."""

import torch
from torch import nn

SIZES = {
    "full": {"batch": 64, "channels": 256, "space": (16384,)},
    "small": {"batch": 2, "channels": 4, "space": (40,)},
}
SIZE = SIZES["full"]


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = nn.Conv1d(SIZE["channels"], SIZE["channels"], 7, padding=3, groups=SIZE["channels"])

    def forward(self, x):
        return self.layer(x)


def get_inputs():
    return [torch.rand(SIZE["batch"], SIZE["channels"], *SIZE["space"])]


def get_init_inputs():
    return []
