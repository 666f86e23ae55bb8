"""Every row from its mean, divided by the mean of the absolute differences from it."""

import torch
from torch import nn

PART = "out of distribution"
AXES = {"rows": (1, 65536), "columns": (2, 16384)}
WORKLOADS = [{"rows": 4096, "columns": 2048}, {"rows": 41, "columns": 555}]


class Model(nn.Module):
    """The operation."""

    def forward(self, x):
        away = x - x.mean(-1, keepdim=True)
        return away / (away.abs().mean(-1, keepdim=True) + 1e-5)


def get_inputs(rows, columns):
    return [torch.randn(rows, columns)]
