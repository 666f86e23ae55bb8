"""The image is wrapped round."""

import torch
from torch import nn

SIZES = {
    "full": {"batch": 16, "channels": 32, "space": (256, 256)},
    "small": {"batch": 1, "channels": 3, "space": (10, 10)},
}
SIZE = SIZES["full"]


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = nn.Conv2d(SIZE["channels"], 64, 3, padding=1, padding_mode="circular")

    def forward(self, x):
        return self.layer(x)


def get_inputs():
    return [torch.rand(SIZE["batch"], SIZE["channels"], *SIZE["space"])]


def get_init_inputs():
    return []
