"""Large filters on three channels."""

import torch
from torch import nn

SIZES = {
    "full": {"batch": 256, "channels": 3, "space": (224, 224)},
    "small": {"batch": 1, "channels": 3, "space": (32, 32)},
}
SIZE = SIZES["full"]


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = nn.Conv2d(SIZE["channels"], 96, 11, stride=4, padding=2)

    def forward(self, x):
        return self.layer(x)


def get_inputs():
    return [torch.rand(SIZE["batch"], SIZE["channels"], *SIZE["space"])]


def get_init_inputs():
    return []
