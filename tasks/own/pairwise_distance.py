"""Distances of all points of one set to all of another."""

import torch
from torch import nn

SIZES = {
    "small": {"left": 64, "right": 48, "features": 16},
    "medium": {"left": 512, "right": 512, "features": 64},
    "large": {"left": 8192, "right": 8192, "features": 128},
}
SIZE = SIZES["medium"]


class Model(nn.Module):
    """Squared Euclidean distances, by way of products."""

    def forward(self, a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
        squares = (a * a).sum(dim=-1)[:, None] + (b * b).sum(dim=-1)[None, :]
        return torch.clamp_min(squares - 2.0 * (a @ b.t()), 0.0)


def get_inputs() -> list[torch.Tensor]:
    return [torch.randn(SIZE["left"], SIZE["features"]), torch.randn(SIZE["right"], SIZE["features"])]


def get_init_inputs() -> list[object]:
    return []
