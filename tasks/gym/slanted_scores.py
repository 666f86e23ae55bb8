"""Scores with a slope for each head that grows with the distance (ALiBi), then softmax."""

import torch
from torch import nn

AXES = {"heads": (1, 64), "queries": (1, 2048), "keys": (1, 8192)}
WORKLOADS = [{"heads": 16, "queries": 512, "keys": 2048}, {"heads": 3, "queries": 21, "keys": 99}]


class Model(nn.Module):
    """The operation."""

    def forward(self, scores, slopes):
        _, queries, keys = scores.shape
        away = torch.arange(keys, device=scores.device)[None] - torch.arange(queries, device=scores.device)[:, None]
        return torch.softmax(scores - slopes[:, None, None] * away.abs(), -1)


def get_inputs(heads, queries, keys):
    return [torch.randn(heads, queries, keys), torch.rand(heads)]
