"""Running sums of a vector that is not negative.

Added up in double precision: on a GPU the order of a float sum depends on which block is ready first, and the result would
not be the same twice.
"""

import torch
from torch import nn

SIZES = {
    "small": {"n": 4096},
    "medium": {"n": 262144},
    "large": {"n": 4194304},
}
SIZE = SIZES["medium"]


class Model(nn.Module):
    """Each element is the sum of all up to and including it."""

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return torch.cumsum(x, dim=0, dtype=torch.float64).to(x.dtype)


def get_inputs() -> list[torch.Tensor]:
    return [torch.rand(SIZE["n"])]


def get_init_inputs() -> list[object]:
    return []
