"""Behind a wide: a chain."""

import torch
from torch import nn

SIZES = {
    "full": {"rows": 1024, "inner": 8192, "outer": 16384},
    "small": {"rows": 6, "inner": 16, "outer": 16},
}
SIZE = SIZES["full"]


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(SIZE["inner"], SIZE["outer"], bias=False)
        self.norm = nn.LayerNorm(SIZE["outer"])

    def forward(self, x):
        y = self.layer(x)
        y = torch.clamp(y, -1.0, 1.0)
        return self.norm(y)


def get_inputs():
    return [torch.rand(SIZE["rows"], SIZE["inner"])]


def get_init_inputs():
    return []
