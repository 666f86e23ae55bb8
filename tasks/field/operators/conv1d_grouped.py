"""In groups, without a bias."""

import torch
from torch import nn

SIZES = {
    "full": {"batch": 32, "channels": 128, "space": (32768,)},
    "small": {"batch": 2, "channels": 8, "space": (40,)},
}
SIZE = SIZES["full"]


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = nn.Conv1d(SIZE["channels"], 2 * SIZE["channels"], 5, groups=4, bias=False)

    def forward(self, x):
        return self.layer(x)


def get_inputs():
    return [torch.rand(SIZE["batch"], SIZE["channels"], *SIZE["space"])]


def get_init_inputs():
    return []
