"""A layer with a bias."""

import torch
from torch import nn

SIZES = {
    "full": {"rows": 16384, "columns": 4096, "out": 4096},
    "small": {"rows": 12, "columns": 16, "out": 9},
}
SIZE = SIZES["full"]


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(SIZE["columns"], SIZE["out"])

    def forward(self, x):
        return self.layer(x)


def get_inputs():
    return [torch.rand(SIZE["rows"], SIZE["columns"])]


def get_init_inputs():
    return []
