"""Behind a conv3: a chain."""

import torch
import torch.nn.functional as F
from torch import nn

SIZES = {
    "full": {"batch": 16, "inner": 8, "outer": 32, "side": 64},
    "small": {"batch": 2, "inner": 2, "outer": 8, "side": 8},
}
SIZE = SIZES["full"]


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = nn.Conv3d(SIZE["inner"], SIZE["outer"], 3)
        self.bias = nn.Parameter(torch.randn(SIZE["outer"], 1, 1, 1) * 0.5)

    def forward(self, x):
        y = self.layer(x)
        y = F.leaky_relu(torch.relu(y), 0.01)
        return torch.sigmoid(F.gelu(y)) + self.bias


def get_inputs():
    return [torch.rand(SIZE["batch"], SIZE["inner"], SIZE["side"], SIZE["side"], SIZE["side"])]


def get_init_inputs():
    return []
