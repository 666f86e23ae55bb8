"""Sixteen narrow layers."""

import torch
from torch import nn

SIZES = {
    "full": {"rows": 16384, "width": 1024, "out": 512},
    "small": {"rows": 6, "width": 12, "out": 5},
}
SIZE = SIZES["full"]


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        layers = [nn.Sequential(nn.Linear(SIZE["width"], SIZE["width"]), nn.ReLU()) for _ in range(16)]
        self.layers = nn.Sequential(*layers, nn.Linear(SIZE["width"], SIZE["out"]))

    def forward(self, x):
        return self.layers(x)


def get_inputs():
    return [torch.rand(SIZE["rows"], SIZE["width"])]


def get_init_inputs():
    return []
