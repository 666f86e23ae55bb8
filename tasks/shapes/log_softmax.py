"""Log-softmax over rows of 128 to 262,144."""

import torch
from torch import nn

AXES = {"rows": (1, 65536), "columns": (32, 262144)}
WORKLOADS = [
    {"rows": 16384, "columns": 128},
    {"rows": 4096, "columns": 1024, "weight": 2, "protected": True},
    {"rows": 2048, "columns": 4096, "weight": 2},
    {"rows": 512, "columns": 32000, "weight": 2},
    {"rows": 64, "columns": 131072},
    {"rows": 16, "columns": 262144},
    {"rows": 1, "columns": 50257, "protected": True},
]
ON_CPU = {"rows": 1024, "columns": 32768}


class Model(nn.Module):
    """The operation."""

    def forward(self, x):
        return torch.log_softmax(x, -1)


def get_inputs(rows, columns):
    return [torch.randn(rows, columns)]
