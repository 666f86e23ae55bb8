"""Rotary positions: the halves of each head's vector turned by the angles of its step."""

import torch
from torch import nn

AXES = {"steps": (1, 8192), "heads": (1, 64), "half": (1, 128)}
WORKLOADS = [{"steps": 4096, "heads": 16, "half": 64}, {"steps": 33, "heads": 5, "half": 20}]


class Model(nn.Module):
    """The operation."""

    def forward(self, x, cos, sin):
        a, b = x.chunk(2, -1)
        c, s = cos[:, None], sin[:, None]
        return torch.cat([a * c - b * s, b * c + a * s], -1)


def get_inputs(steps, heads, half):
    return [torch.randn(steps, heads, 2 * half), torch.randn(steps, half), torch.randn(steps, half)]
