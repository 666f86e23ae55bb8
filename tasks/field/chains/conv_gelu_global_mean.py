"""Behind a conv: a chain."""

import torch
import torch.nn.functional as F
from torch import nn

SIZES = {
    "full": {"batch": 64, "inner": 32, "outer": 64, "side": 256},
    "small": {"batch": 2, "inner": 3, "outer": 8, "side": 10},
}
SIZE = SIZES["full"]


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = nn.Conv2d(SIZE["inner"], SIZE["outer"], 3)

    def forward(self, x):
        y = self.layer(x)
        return F.adaptive_avg_pool2d(F.gelu(y), 1).flatten(1)


def get_inputs():
    return [torch.rand(SIZE["batch"], SIZE["inner"], SIZE["side"], SIZE["side"])]


def get_init_inputs():
    return []
