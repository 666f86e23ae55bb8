"""The cross entropy of a logit against a probability, element by element."""

import torch
from torch import nn
from torch.nn import functional

AXES = {"n": (1, 67108864)}
WORKLOADS = [{"n": 8388608}, {"n": 100001}]


class Model(nn.Module):
    """The operation."""

    def forward(self, x, p):
        return functional.binary_cross_entropy_with_logits(x, p, reduction="none")


def get_inputs(n):
    return [torch.randn(n), torch.rand(n)]
