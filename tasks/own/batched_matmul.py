"""Products of many pairs of matrices."""

import torch
from torch import nn

SIZES = {
    "small": {"batch": 4, "m": 48, "k": 64, "n": 32},
    "medium": {"batch": 32, "m": 128, "k": 96, "n": 128},
    "large": {"batch": 256, "m": 256, "k": 256, "n": 256},
}
SIZE = SIZES["medium"]


class Model(nn.Module):
    """One product for each pair."""

    def forward(self, a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
        return torch.bmm(a, b)


def get_inputs() -> list[torch.Tensor]:
    batch, k = SIZE["batch"], SIZE["k"]
    return [torch.randn(batch, SIZE["m"], k), torch.randn(batch, k, SIZE["n"])]


def get_init_inputs() -> list[object]:
    return []
