"""A row of 256 with every place's number read backwards in bits, plus the element as it was, halved."""

import torch
from torch import nn

PART = "out of distribution"
AXES = {"rows": (1, 65536)}
WORKLOADS = [{"rows": 16384}, {"rows": 333}]


class Model(nn.Module):
    """The operation."""

    def forward(self, x):
        place = torch.arange(256, device=x.device)
        mirrored = sum(((place >> bit) & 1) << (7 - bit) for bit in range(8))
        return 0.5 * (x + x[:, mirrored])


def get_inputs(rows):
    return [torch.randn(rows, 256)]
