"""The lower triangle of a product of lower triangles."""

import torch
from torch import nn

SIZES = {
    "full": {"m": 4096},
    "small": {"m": 16},
}
SIZE = SIZES["full"]


class Model(nn.Module):
    def forward(self, a, b):
        return torch.tril(a @ b)


def get_inputs():
    return [torch.rand(SIZE["m"], SIZE["m"]).tril(), torch.rand(SIZE["m"], SIZE["m"]).tril()]


def get_init_inputs():
    return []
