"""Mean of the squared differences of two vectors."""

import torch
from torch import nn

SIZES = {
    "small": {"n": 16384},
    "medium": {"n": 1048576},
    "large": {"n": 67108864},
}
SIZE = SIZES["medium"]


class Model(nn.Module):
    """The mean over all elements of the difference squared."""

    def forward(self, predictions: torch.Tensor, targets: torch.Tensor) -> torch.Tensor:
        return torch.mean((predictions - targets) ** 2)


def get_inputs() -> list[torch.Tensor]:
    return [torch.randn(SIZE["n"]), torch.randn(SIZE["n"])]


def get_init_inputs() -> list[object]:
    return []
