"""Every row at half its length: each even place, less the odd one as far from the other end."""

import torch
from torch import nn

PART = "out of distribution"
AXES = {"rows": (1, 16384), "half": (1, 8192)}
WORKLOADS = [{"rows": 4096, "half": 2048}, {"rows": 37, "half": 333}]


class Model(nn.Module):
    """The operation."""

    def forward(self, x):
        return x[:, ::2] - x.flip(-1)[:, ::2]


def get_inputs(rows, half):
    return [torch.randn(rows, 2 * half)]
