"""Behind a linear: a chain."""

import torch
from torch import nn

SIZES = {
    "full": {"rows": 16384, "inner": 4096, "outer": 4096},
    "small": {"rows": 12, "inner": 16, "outer": 32},
}
SIZE = SIZES["full"]


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(SIZE["inner"], SIZE["outer"])
        self.shift = nn.Parameter(torch.randn(SIZE["outer"]))
        self.norm = nn.GroupNorm(8, SIZE["outer"])

    def forward(self, x):
        y = self.layer(x)
        y = y * torch.sigmoid(y) + self.shift
        return self.norm(y)


def get_inputs():
    return [torch.rand(SIZE["rows"], SIZE["inner"])]


def get_init_inputs():
    return []
