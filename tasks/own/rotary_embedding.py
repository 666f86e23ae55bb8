"""Rotation of pairs of features by angles that grow with the position."""

import torch
from torch import nn

SIZES = {
    "small": {"batch": 2, "tokens": 32, "heads": 4, "features": 16},
    "medium": {"batch": 4, "tokens": 256, "heads": 8, "features": 64},
    "large": {"batch": 16, "tokens": 2048, "heads": 16, "features": 128},
}
SIZE = SIZES["medium"]


class Model(nn.Module):
    """Feature i is paired with the one half a head further; cosines and sines are given."""

    def forward(self, x: torch.Tensor, cosines: torch.Tensor, sines: torch.Tensor) -> torch.Tensor:
        first, second = x.chunk(2, dim=-1)
        c, s = cosines[None, :, None], sines[None, :, None]
        return torch.cat((first * c - second * s, second * c + first * s), dim=-1)


def get_inputs() -> list[torch.Tensor]:
    tokens, features = SIZE["tokens"], SIZE["features"]
    speeds = 10000.0 ** -(torch.arange(features // 2) / (features // 2))
    angles = (torch.arange(tokens) + torch.randint(1, 1000, (1,)))[:, None] * speeds
    return [torch.randn(SIZE["batch"], tokens, SIZE["heads"], features), angles.cos(), angles.sin()]


def get_init_inputs() -> list[object]:
    return []
