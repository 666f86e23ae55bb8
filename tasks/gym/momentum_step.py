"""A step of gradient descent with decay and Nesterov's momentum: new weights and new velocity."""

import torch
from torch import nn

AXES = {"n": (1, 33554432)}
WORKLOADS = [{"n": 8388608}, {"n": 12345}]


class Model(nn.Module):
    """The operation."""

    def forward(self, weight, gradient, velocity):
        gradient = gradient + 0.01 * weight
        velocity = 0.9 * velocity + gradient
        return weight - 0.1 * (gradient + 0.9 * velocity), velocity


def get_inputs(n):
    return [torch.randn(n), torch.randn(n), torch.randn(n)]
