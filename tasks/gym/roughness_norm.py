"""Every row divided by the root mean square of the steps between neighbours, around the row's end."""

import torch
from torch import nn

PART = "out of distribution"
AXES = {"rows": (1, 65536), "columns": (2, 16384)}
WORKLOADS = [{"rows": 4096, "columns": 2048}, {"rows": 23, "columns": 403}]


class Model(nn.Module):
    """The operation."""

    def forward(self, x):
        step = x.roll(-1, -1) - x
        return x * torch.rsqrt((step * step).mean(-1, keepdim=True) + 1e-5)


def get_inputs(rows, columns):
    return [torch.randn(rows, columns)]
