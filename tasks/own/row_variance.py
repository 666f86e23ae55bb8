"""Variance of every row."""

import torch
from torch import nn

SIZES = {
    "small": {"rows": 64, "columns": 256},
    "medium": {"rows": 1024, "columns": 1024},
    "large": {"rows": 16384, "columns": 4096},
}
SIZE = SIZES["medium"]


class Model(nn.Module):
    """The unbiased variance along the last axis."""

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return torch.var(x, dim=-1)


def get_inputs() -> list[torch.Tensor]:
    return [torch.randn(SIZE["rows"], SIZE["columns"])]


def get_init_inputs() -> list[object]:
    return []
