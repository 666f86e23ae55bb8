"""A linear recurrence h = a h + x down the time of every channel, whose decay a is an input."""

import torch
from torch import nn

AXES = {"steps": (1, 256), "channels": (1, 16384)}
WORKLOADS = [{"steps": 128, "channels": 8192}, {"steps": 37, "channels": 77}]


class Model(nn.Module):
    """The operation."""

    def forward(self, x, a):
        h, out = torch.zeros_like(x[0]), []
        for now, decay in zip(x, a, strict=True):
            h = decay * h + now
            out.append(h)
        return torch.stack(out)


def get_inputs(steps, channels):
    return [torch.randn(steps, channels), torch.rand(steps, channels)]
