"""Cross entropy of labels over vocabularies."""

import torch
from torch import nn
from torch.nn import functional

AXES = {"tokens": (1, 32768), "classes": (2, 131072)}
WORKLOADS = [
    {"tokens": 4096, "classes": 1000},
    {"tokens": 2048, "classes": 32000, "weight": 3, "protected": True},
    {"tokens": 1024, "classes": 50257, "weight": 2},
    {"tokens": 256, "classes": 128256},
    {"tokens": 16384, "classes": 128},
]
ON_CPU = {"tokens": 512, "classes": 32000}


class Model(nn.Module):
    """The operation."""

    def forward(self, x, y):
        return functional.cross_entropy(x, y)


def get_inputs(tokens, classes):
    return [torch.randn(tokens, classes), torch.randint(0, classes, (tokens,))]
