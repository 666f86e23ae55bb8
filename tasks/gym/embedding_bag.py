"""The mean of the table's rows that each bag names."""

import torch
from torch import nn

AXES = {"bags": (1, 16384), "each": (1, 64), "entries": (2, 65536), "width": (1, 1024)}
WORKLOADS = [
    {"bags": 4096, "each": 20, "entries": 50000, "width": 128},
    {"bags": 33, "each": 7, "entries": 100, "width": 50},
]


class Model(nn.Module):
    """The operation."""

    def forward(self, bags, table):
        return table[bags].mean(1)


def get_inputs(bags, each, entries, width):
    return [torch.randint(0, entries, (bags, each)), torch.randn(entries, width)]
