"""Transposed and strided, in groups."""

import torch
from torch import nn

SIZES = {
    "full": {"batch": 8, "channels": 32, "space": (12, 24, 48)},
    "small": {"batch": 1, "channels": 4, "space": (3, 4, 5)},
}
SIZE = SIZES["full"]


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = nn.ConvTranspose3d(
            SIZE["channels"], 32, (3, 5, 7), stride=(2, 2, 2), padding=(1, 2, 3), output_padding=1, groups=4
        )

    def forward(self, x):
        return self.layer(x)


def get_inputs():
    return [torch.rand(SIZE["batch"], SIZE["channels"], *SIZE["space"])]


def get_init_inputs():
    return []
