"""The divergence of a distribution in logits from one in logarithms, a number a row."""

import torch
from torch import nn

AXES = {"rows": (1, 16384), "classes": (2, 16384)}
WORKLOADS = [{"rows": 2048, "classes": 4096}, {"rows": 50, "classes": 999}]


class Model(nn.Module):
    """The operation."""

    def forward(self, x, y):
        p, q = torch.log_softmax(x, -1), torch.log_softmax(y, -1)
        return (q.exp() * (q - p)).sum(-1)


def get_inputs(rows, classes):
    return [torch.randn(rows, classes), torch.randn(rows, classes)]
