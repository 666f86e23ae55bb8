"""The upper triangle of a product of upper triangles."""

import torch
from torch import nn

SIZES = {
    "full": {"m": 4096},
    "small": {"m": 16},
}
SIZE = SIZES["full"]


class Model(nn.Module):
    def forward(self, a, b):
        return torch.triu(a @ b)


def get_inputs():
    return [torch.rand(SIZE["m"], SIZE["m"]).triu(), torch.rand(SIZE["m"], SIZE["m"]).triu()]


def get_init_inputs():
    return []
