"""Rotary positions: pairs of channels of queries and keys, turned by an angle of their place."""

import torch
from torch import nn

SIZES = {
    "small": {"batch": 1, "heads": 2, "tokens": 16, "width": 32},
    "medium": {"batch": 2, "heads": 8, "tokens": 256, "width": 64},
    "large": {"batch": 8, "heads": 32, "tokens": 2048, "width": 128},
}
SIZE = SIZES["medium"]


class Model(nn.Module):
    """Each half of the channels with the other half, times cosine and sine."""

    def __init__(self, tokens: int, width: int) -> None:
        super().__init__()
        angles = torch.outer(torch.arange(tokens).float(), 10000.0 ** (-torch.arange(0, width, 2).float() / width))
        self.register_buffer("cosine", torch.cat([angles, angles], dim=-1).cos())
        self.register_buffer("sine", torch.cat([angles, angles], dim=-1).sin())

    def forward(self, queries: torch.Tensor, keys: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        return self._turned(queries), self._turned(keys)

    def _turned(self, x: torch.Tensor) -> torch.Tensor:
        left, right = x.chunk(2, dim=-1)
        return x * self.cosine + torch.cat([-right, left], dim=-1) * self.sine


def get_inputs() -> list[torch.Tensor]:
    shape = (SIZE["batch"], SIZE["heads"], SIZE["tokens"], SIZE["width"])
    return [torch.randn(shape), torch.randn(shape)]


def get_init_inputs() -> list[object]:
    return [SIZE["tokens"], SIZE["width"]]
