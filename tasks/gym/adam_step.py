"""A step of Adam without its corrections: the new weights and both new moments."""

import torch
from torch import nn

AXES = {"n": (1, 33554432)}
WORKLOADS = [{"n": 8388608}, {"n": 77777}]


class Model(nn.Module):
    """The operation."""

    def forward(self, weight, gradient, first, second):
        first = 0.9 * first + 0.1 * gradient
        second = 0.999 * second + 0.001 * gradient * gradient
        return weight - 0.001 * first / (second.sqrt() + 1e-8), first, second


def get_inputs(n):
    return [torch.randn(n), torch.randn(n), torch.randn(n), 0.1 + torch.rand(n)]
