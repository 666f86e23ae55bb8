"""Transposed, each channel by itself."""

import torch
from torch import nn

SIZES = {
    "full": {"batch": 16, "channels": 64, "space": (128, 128)},
    "small": {"batch": 1, "channels": 4, "space": (6, 7)},
}
SIZE = SIZES["full"]


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = nn.ConvTranspose2d(
            SIZE["channels"], SIZE["channels"], 4, stride=2, padding=1, groups=SIZE["channels"]
        )

    def forward(self, x):
        return self.layer(x)


def get_inputs():
    return [torch.rand(SIZE["batch"], SIZE["channels"], *SIZE["space"])]


def get_init_inputs():
    return []
