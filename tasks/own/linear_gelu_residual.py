"""A linear layer, GELU, and the input added again."""

import torch
from torch import nn
from torch.nn import functional

SIZES = {
    "small": {"rows": 64, "features": 96},
    "medium": {"rows": 512, "features": 512},
    "large": {"rows": 8192, "features": 2048},
}
SIZE = SIZES["medium"]


class Model(nn.Module):
    """A block of a network whose product can be finished before it is written."""

    def __init__(self, features: int) -> None:
        super().__init__()
        self.linear = nn.Linear(features, features)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x + functional.gelu(self.linear(x))


def get_inputs() -> list[torch.Tensor]:
    return [torch.randn(SIZE["rows"], SIZE["features"])]


def get_init_inputs() -> list[object]:
    return [SIZE["features"]]
