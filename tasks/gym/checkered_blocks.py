"""Every two by two of a plane as one number: its diagonal less the other one, over their absolute sum."""

import torch
from torch import nn

PART = "out of distribution"
AXES = {"planes": (1, 4096), "high": (1, 128), "wide": (1, 128)}
WORKLOADS = [{"planes": 512, "high": 64, "wide": 64}, {"planes": 6, "high": 11, "wide": 21}]


class Model(nn.Module):
    """The operation."""

    def forward(self, x):
        a, b = x[:, ::2, ::2], x[:, ::2, 1::2]
        c, d = x[:, 1::2, ::2], x[:, 1::2, 1::2]
        return (a + d - b - c) / (a.abs() + b.abs() + c.abs() + d.abs() + 1e-2)


def get_inputs(planes, high, wide):
    return [torch.randn(planes, 2 * high, 2 * wide)]
