"""The triangle above the diagonal of every square, packed row by row and divided by its column's number."""

import torch
from torch import nn

PART = "out of distribution"
AXES = {"squares": (1, 4096), "size": (1, 256)}
WORKLOADS = [{"squares": 512, "size": 128}, {"squares": 5, "size": 33}]


class Model(nn.Module):
    """The operation."""

    def forward(self, x):
        size = x.shape[-1]
        i, j = torch.triu_indices(size, size, device=x.device)
        return x[:, i, j] / (j + 1)


def get_inputs(squares, size):
    return [torch.randn(squares, size, size)]
