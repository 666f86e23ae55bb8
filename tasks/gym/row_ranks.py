"""How many elements of its row are smaller than each, in short rows."""

import torch
from torch import nn

AXES = {"rows": (1, 65536), "columns": (1, 128)}
WORKLOADS = [{"rows": 16384, "columns": 64}, {"rows": 33, "columns": 27}]


class Model(nn.Module):
    """The operation."""

    def forward(self, x):
        return (x[:, None, :] < x[:, :, None]).sum(-1)


def get_inputs(rows, columns):
    return [torch.randn(rows, columns)]
