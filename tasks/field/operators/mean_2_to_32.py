"""2^32 numbers in bfloat16."""

import torch
from torch import nn

SIZES = {
    "full": {"rows": 65536, "columns": 65536},
    "small": {"rows": 6, "columns": 40},
}
SIZE = SIZES["full"]


class Model(nn.Module):
    def forward(self, x):
        return torch.mean(x, dim=1)


def get_inputs():
    return [torch.rand(SIZE["rows"], SIZE["columns"], dtype=torch.bfloat16)]


def get_init_inputs():
    return []
