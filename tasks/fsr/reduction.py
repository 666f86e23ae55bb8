"""Sum of all elements of a vector that is not negative."""

import torch
from torch import nn

SIZES = {
    "small": {"n": 16384},
    "medium": {"n": 1048576},
    "large": {"n": 67108864},
}
SIZE = SIZES["medium"]


class Model(nn.Module):
    """The sum; without negative elements, so that it is no small difference of large numbers."""

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return torch.sum(x)


def get_inputs() -> list[torch.Tensor]:
    return [torch.rand(SIZE["n"])]


def get_init_inputs() -> list[object]:
    return []
