"""Every row from the middle between its extremes, divided by how far they are apart."""

import torch
from torch import nn

PART = "out of distribution"
AXES = {"rows": (1, 65536), "columns": (2, 16384)}
WORKLOADS = [{"rows": 4096, "columns": 4096}, {"rows": 19, "columns": 701}]


class Model(nn.Module):
    """The operation."""

    def forward(self, x):
        high, low = x.amax(-1, keepdim=True), x.amin(-1, keepdim=True)
        return (x - 0.5 * (high + low)) / (high - low + 1e-3)


def get_inputs(rows, columns):
    return [torch.randn(rows, columns)]
