"""GELU in its approximation by a hyperbolic tangent."""

import torch
from torch import nn
from torch.nn import functional

SIZES = {
    "small": {"rows": 64, "columns": 256},
    "medium": {"rows": 1024, "columns": 1024},
    "large": {"rows": 16384, "columns": 4096},
}
SIZE = SIZES["medium"]


class Model(nn.Module):
    """The approximate form, element by element."""

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return functional.gelu(x, approximate="tanh")


def get_inputs() -> list[torch.Tensor]:
    return [torch.randn(SIZE["rows"], SIZE["columns"])]


def get_init_inputs() -> list[object]:
    return []
