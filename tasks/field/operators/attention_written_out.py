"""Scores, shares, values."""

import torch
from torch import nn

SIZES = {
    "full": {"batch": 8, "heads": 16, "tokens": 2048, "width": 64},
    "small": {"batch": 1, "heads": 4, "tokens": 12, "width": 8},
}
SIZE = SIZES["full"]


class Model(nn.Module):
    def forward(self, q, k, v):
        return torch.softmax(q @ k.transpose(-2, -1) / SIZE["width"] ** 0.5, dim=-1) @ v


def get_inputs():
    return [
        torch.randn(SIZE["batch"], SIZE["heads"], SIZE["tokens"], SIZE["width"], dtype=torch.float32),
        torch.randn(SIZE["batch"], SIZE["heads"] // 1, SIZE["tokens"], SIZE["width"], dtype=torch.float32),
        torch.randn(SIZE["batch"], SIZE["heads"] // 1, SIZE["tokens"], SIZE["width"], dtype=torch.float32),
    ]


def get_init_inputs():
    return []
