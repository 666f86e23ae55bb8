"""Layer normalisation of every row, with a scale and a shift."""

import torch
from torch import nn
from torch.nn import functional

AXES = {"rows": (1, 65536), "columns": (2, 16384)}
WORKLOADS = [{"rows": 4096, "columns": 2048}, {"rows": 129, "columns": 1111}]


class Model(nn.Module):
    """The operation."""

    def forward(self, x, scale, shift):
        return functional.layer_norm(x, (x.shape[-1],), scale, shift)


def get_inputs(rows, columns):
    return [torch.randn(rows, columns), torch.randn(columns), torch.randn(columns)]
