"""Rows added to the slots that they name."""

import torch
from torch import nn

AXES = {"rows": (1, 65536), "slots": (2, 4096), "width": (1, 1024)}
WORKLOADS = [{"rows": 16384, "slots": 1024, "width": 128}, {"rows": 90, "slots": 13, "width": 40}]


class Model(nn.Module):
    """The operation."""

    def forward(self, x, slots, start):
        return start.index_add(0, slots, x)


def get_inputs(rows, slots, width):
    return [torch.rand(rows, width), torch.randint(0, slots, (rows,)), torch.rand(slots, width)]
