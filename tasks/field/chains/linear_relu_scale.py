"""Behind a linear: a chain."""

import torch
from torch import nn

SIZES = {
    "full": {"rows": 16384, "inner": 4096, "outer": 4096},
    "small": {"rows": 12, "inner": 16, "outer": 8},
}
SIZE = SIZES["full"]


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(SIZE["inner"], SIZE["outer"])

    def forward(self, x):
        y = self.layer(x)
        y = torch.relu(y)
        return y * 0.7 + 0.1


def get_inputs():
    return [torch.rand(SIZE["rows"], SIZE["inner"])]


def get_init_inputs():
    return []
