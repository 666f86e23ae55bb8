"""Product of a lower triangle with a matrix."""

import torch
from torch import nn

SIZES = {
    "small": {"side": 96, "columns": 64},
    "medium": {"side": 512, "columns": 512},
    "large": {"side": 4096, "columns": 2048},
}
SIZE = SIZES["medium"]


class Model(nn.Module):
    """What lies above the diagonal of the first is not part of it."""

    def forward(self, a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
        return torch.tril(a) @ b


def get_inputs() -> list[torch.Tensor]:
    return [torch.randn(SIZE["side"], SIZE["side"]), torch.randn(SIZE["side"], SIZE["columns"])]


def get_init_inputs() -> list[object]:
    return []
