"""Behind a linear: a chain."""

import torch
import torch.nn.functional as F
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
        self.norm = nn.GroupNorm(4, SIZE["outer"])

    def forward(self, x):
        y = self.layer(x)
        y = self.norm(y)
        return F.hardtanh(y, -1.5, 1.5)


def get_inputs():
    return [torch.rand(SIZE["rows"], SIZE["inner"])]


def get_init_inputs():
    return []
