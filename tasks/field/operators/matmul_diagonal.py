"""A diagonal matrix by a full one."""

import torch
from torch import nn

SIZES = {
    "full": {"m": 8192, "k": 8192},
    "small": {"m": 12, "k": 9},
}
SIZE = SIZES["full"]


class Model(nn.Module):
    def forward(self, a, b):
        return torch.diag(a) @ b


def get_inputs():
    return [torch.rand(SIZE["m"]), torch.rand(SIZE["m"], SIZE["k"])]


def get_init_inputs():
    return []
