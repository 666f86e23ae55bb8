"""The largest elements of a vector, in descending order."""

import torch
from torch import nn

SIZES = {
    "small": {"n": 1024, "k": 32},
    "medium": {"n": 65536, "k": 128},
    "large": {"n": 4194304, "k": 512},
}
SIZE = SIZES["medium"]


class Model(nn.Module):
    """The k largest, the largest first."""

    def __init__(self, k: int) -> None:
        super().__init__()
        self.k = k

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return torch.topk(x, self.k).values


def get_inputs() -> list[torch.Tensor]:
    return [torch.randn(SIZE["n"])]


def get_init_inputs() -> list[object]:
    return [SIZE["k"]]
