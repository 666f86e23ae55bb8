"""Product of a matrix with the transpose of another."""

import torch
from torch import nn

SIZES = {
    "small": {"m": 96, "k": 128, "n": 64},
    "medium": {"m": 512, "k": 768, "n": 512},
    "large": {"m": 4096, "k": 4096, "n": 2048},
}
SIZE = SIZES["medium"]


class Model(nn.Module):
    """Rows of the first with rows of the second."""

    def forward(self, a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
        return a @ b.t()


def get_inputs() -> list[torch.Tensor]:
    return [torch.randn(SIZE["m"], SIZE["k"]), torch.randn(SIZE["n"], SIZE["k"])]


def get_init_inputs() -> list[object]:
    return []
