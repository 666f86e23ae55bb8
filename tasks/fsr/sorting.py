"""The elements of a vector in ascending order."""

import torch
from torch import nn

SIZES = {
    "small": {"n": 512},
    "medium": {"n": 8192},
    "large": {"n": 4194304},
}
SIZE = SIZES["medium"]


class Model(nn.Module):
    """The smallest first."""

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return torch.sort(x).values


def get_inputs() -> list[torch.Tensor]:
    return [torch.randn(SIZE["n"])]


def get_init_inputs() -> list[object]:
    return []
