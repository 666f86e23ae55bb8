"""Rectified linear unit of every element."""

import torch
from torch import nn

SIZES = {
    "small": {"n": 16384},
    "medium": {"n": 1048576},
    "large": {"n": 67108864},
}
SIZE = SIZES["medium"]


class Model(nn.Module):
    """What is below zero becomes zero."""

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return torch.relu(x)


def get_inputs() -> list[torch.Tensor]:
    return [torch.randn(SIZE["n"])]


def get_init_inputs() -> list[object]:
    return []
