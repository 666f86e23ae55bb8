"""A matrix with rows and columns exchanged, in memory of its own."""

import torch
from torch import nn

SIZES = {
    "small": {"rows": 128, "columns": 96},
    "medium": {"rows": 1024, "columns": 1024},
    "large": {"rows": 8192, "columns": 8192},
}
SIZE = SIZES["medium"]


class Model(nn.Module):
    """Element (i, j) becomes (j, i)."""

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x.t().contiguous()


def get_inputs() -> list[torch.Tensor]:
    return [torch.randn(SIZE["rows"], SIZE["columns"])]


def get_init_inputs() -> list[object]:
    return []
