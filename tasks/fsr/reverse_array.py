"""A vector in reverse order."""

import torch
from torch import nn

SIZES = {
    "small": {"n": 16384},
    "medium": {"n": 1048576},
    "large": {"n": 67108864},
}
SIZE = SIZES["medium"]


class Model(nn.Module):
    """The last element first."""

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return torch.flip(x, dims=(0,))


def get_inputs() -> list[torch.Tensor]:
    return [torch.randn(SIZE["n"])]


def get_init_inputs() -> list[object]:
    return []
