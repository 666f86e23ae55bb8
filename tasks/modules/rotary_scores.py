"""Scores of attention with rotary positions: queries and keys turned, multiplied, and a softmax over them."""

import torch
from torch import nn
from torch.nn import functional

SIZES = {
    "small": {"heads": 2, "tokens": 16, "width": 32},
    "medium": {"heads": 8, "tokens": 256, "width": 64},
    "large": {"heads": 64, "tokens": 1024, "width": 128},
}
SIZE = SIZES["medium"]


class Model(nn.Module):
    """softmax(turn(q) turn(k)^T / sqrt(width))."""

    def __init__(self, tokens: int, width: int) -> None:
        super().__init__()
        angles = torch.outer(torch.arange(tokens).float(), 10000.0 ** (-torch.arange(0, width, 2).float() / width))
        self.register_buffer("cosine", angles.cos())
        self.register_buffer("sine", angles.sin())
        self.scale = width**-0.5

    def forward(self, queries: torch.Tensor, keys: torch.Tensor) -> torch.Tensor:
        scores = self._turned(queries) @ self._turned(keys).transpose(-1, -2)
        return functional.softmax(scores * self.scale, dim=-1)

    def _turned(self, x: torch.Tensor) -> torch.Tensor:
        even, odd = x[..., 0::2], x[..., 1::2]
        turned = torch.stack([even * self.cosine - odd * self.sine, even * self.sine + odd * self.cosine], dim=-1)
        return turned.flatten(-2)


def get_inputs() -> list[torch.Tensor]:
    shape = (SIZE["heads"], SIZE["tokens"], SIZE["width"])
    return [torch.randn(shape), torch.randn(shape)]


def get_init_inputs() -> list[object]:
    return [SIZE["tokens"], SIZE["width"]]
