"""Random on purpose."""

import torch
from torch import nn

SIZES = {
    "full": {"rows": 4096, "columns": 16384},
    "small": {"rows": 6, "columns": 40},
}
SIZE = SIZES["full"]


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.drop = nn.Dropout(0.2)

    def forward(self, x):
        return self.drop(x)


def get_inputs():
    return [torch.rand(SIZE["rows"], SIZE["columns"])]


def get_init_inputs():
    return []
