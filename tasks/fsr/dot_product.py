"""Sum of the products of two vectors that are not negative."""

import torch
from torch import nn

SIZES = {
    "small": {"n": 16384},
    "medium": {"n": 1048576},
    "large": {"n": 67108864},
}
SIZE = SIZES["medium"]


class Model(nn.Module):
    """Element by element, and all of it added up."""

    def forward(self, a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
        return torch.sum(a * b)


def get_inputs() -> list[torch.Tensor]:
    return [torch.rand(SIZE["n"]), torch.rand(SIZE["n"])]


def get_init_inputs() -> list[object]:
    return []
