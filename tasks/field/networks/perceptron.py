"""Three wide layers."""

import torch
from torch import nn

SIZES = {
    "full": {"rows": 2048, "width": 8192, "inner": 8192, "out": 4096},
    "small": {"rows": 6, "width": 12, "inner": 16, "out": 5},
}
SIZE = SIZES["full"]


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.Sequential(
            nn.Linear(SIZE["width"], SIZE["inner"]),
            nn.ReLU(),
            nn.Linear(SIZE["inner"], SIZE["inner"]),
            nn.ReLU(),
            nn.Linear(SIZE["inner"], SIZE["out"]),
        )

    def forward(self, x):
        return self.layers(x)


def get_inputs():
    return [torch.rand(SIZE["rows"], SIZE["width"])]


def get_init_inputs():
    return []
