"""Two vectors blended by a third, clamped to the unit interval."""

import torch
from torch import nn

AXES = {"n": (1, 67108864)}
WORKLOADS = [{"n": 8388608}, {"n": 77777}]


class Model(nn.Module):
    """The operation."""

    def forward(self, a, b, t):
        return a + t.clamp(0.0, 1.0) * (b - a)


def get_inputs(n):
    return [torch.randn(n), torch.randn(n), torch.randn(n)]
