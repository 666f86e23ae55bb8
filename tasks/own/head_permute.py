"""Tokens and heads change places in memory."""

import torch
from torch import nn

SIZES = {
    "small": {"batch": 2, "tokens": 32, "heads": 4, "features": 16},
    "medium": {"batch": 4, "tokens": 256, "heads": 8, "features": 64},
    "large": {"batch": 16, "tokens": 2048, "heads": 16, "features": 128},
}
SIZE = SIZES["medium"]


class Model(nn.Module):
    """From tokens by heads to heads by tokens, dense."""

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x.permute(0, 2, 1, 3).contiguous()


def get_inputs() -> list[torch.Tensor]:
    return [torch.randn(SIZE["batch"], SIZE["tokens"], SIZE["heads"], SIZE["features"])]


def get_init_inputs() -> list[object]:
    return []
