"""Huber's loss with a bend at one half, summed over each row."""

import torch
from torch import nn
from torch.nn import functional

AXES = {"rows": (1, 16384), "columns": (1, 16384)}
WORKLOADS = [{"rows": 4096, "columns": 2048}, {"rows": 99, "columns": 515}]


class Model(nn.Module):
    """The operation."""

    def forward(self, x, y):
        return functional.huber_loss(x, y, reduction="none", delta=0.5).sum(-1)


def get_inputs(rows, columns):
    return [torch.randn(rows, columns), torch.randn(rows, columns)]
