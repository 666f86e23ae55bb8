"""Statistics of volumes."""

import torch
from torch import nn

SIZES = {
    "full": {"batch": 16, "channels": 32, "space": (64, 96, 96)},
    "small": {"batch": 2, "channels": 3, "space": (4, 5, 5)},
}
SIZE = SIZES["full"]


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = nn.BatchNorm3d(SIZE["channels"], momentum=0.3)

    def forward(self, x):
        return self.layer(x)


def get_inputs():
    return [torch.rand(SIZE["batch"], SIZE["channels"], *SIZE["space"])]


def get_init_inputs():
    return []
