"""Sums of the elements that share a bucket."""

import torch
from torch import nn

SIZES = {
    "small": {"n": 16384, "buckets": 64},
    "medium": {"n": 262144, "buckets": 1024},
    "large": {"n": 16777216, "buckets": 4096},
}
SIZE = SIZES["medium"]


class Model(nn.Module):
    """Values are scattered by index and added up; how often a bucket is hit is not known before."""

    def __init__(self, buckets: int) -> None:
        super().__init__()
        self.buckets = buckets

    def forward(self, values: torch.Tensor, places: torch.Tensor) -> torch.Tensor:
        whole = torch.floor(values * 16.0).to(torch.int64)
        sums = torch.zeros(self.buckets, dtype=torch.int64, device=values.device)
        return sums.scatter_add_(0, places, whole)


def get_inputs() -> list[torch.Tensor]:
    return [torch.randn(SIZE["n"]), torch.randint(SIZE["buckets"], (SIZE["n"],))]


def get_init_inputs() -> list[object]:
    return [SIZE["buckets"]]
