"""Every row as eight-bit whole numbers, with its scale."""

import torch
from torch import nn

AXES = {"rows": (1, 16384), "columns": (1, 16384)}
WORKLOADS = [{"rows": 4096, "columns": 4096}, {"rows": 33, "columns": 777}]


class Model(nn.Module):
    """The operation."""

    def forward(self, x):
        scale = x.abs().amax(-1, keepdim=True).clamp_min(1e-8) / 127.0
        return (x / scale).round().clamp(-127.0, 127.0).to(torch.int8), scale[:, 0]


def get_inputs(rows, columns):
    return [torch.randn(rows, columns)]
