"""Eight-bit weights times a scale for every 32 of a row, less a zero of the group."""

import torch
from torch import nn

AXES = {"rows": (1, 8192), "groups": (1, 256)}
WORKLOADS = [{"rows": 4096, "groups": 128}, {"rows": 31, "groups": 7}]


class Model(nn.Module):
    """The operation."""

    def forward(self, x, scale, zero):
        rows, groups = scale.shape
        away = x.view(rows, groups, 32).float() - zero[..., None].float()
        return (away * scale[..., None]).view(rows, -1)


def get_inputs(rows, groups):
    return [
        torch.randint(-128, 128, (rows, 32 * groups), dtype=torch.int8),
        torch.rand(rows, groups),
        torch.randint(-8, 8, (rows, groups), dtype=torch.int8),
    ]
