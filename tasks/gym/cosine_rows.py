"""The cosine between rows of two matrices."""

import torch
from torch import nn
from torch.nn import functional

AXES = {"rows": (1, 65536), "columns": (1, 8192)}
WORKLOADS = [{"rows": 8192, "columns": 1024}, {"rows": 55, "columns": 300}]


class Model(nn.Module):
    """The operation."""

    def forward(self, x, y):
        return functional.cosine_similarity(x, y, -1)


def get_inputs(rows, columns):
    return [torch.randn(rows, columns), torch.randn(rows, columns)]
