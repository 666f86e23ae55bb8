"""Causal self-attention with several heads, between two projections."""

import torch
from torch import nn
from torch.nn import functional

SIZES = {
    "small": {"batch": 1, "tokens": 32, "width": 64, "heads": 4},
    "medium": {"batch": 2, "tokens": 256, "width": 256, "heads": 8},
    "large": {"batch": 8, "tokens": 2048, "width": 1024, "heads": 16},
}
SIZE = SIZES["medium"]


class Model(nn.Module):
    """Every token looks at itself and those before it."""

    def __init__(self, width: int, heads: int) -> None:
        super().__init__()
        self.heads = heads
        self.into = nn.Linear(width, 3 * width)
        self.out = nn.Linear(width, width)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        batch, tokens, width = x.shape
        split = self.into(x).view(batch, tokens, 3, self.heads, width // self.heads).permute(2, 0, 3, 1, 4)
        seen = functional.scaled_dot_product_attention(split[0], split[1], split[2], is_causal=True)
        return self.out(seen.transpose(1, 2).reshape(batch, tokens, width))


def get_inputs() -> list[torch.Tensor]:
    return [torch.randn(SIZE["batch"], SIZE["tokens"], SIZE["width"])]


def get_init_inputs() -> list[object]:
    return [SIZE["width"], SIZE["heads"]]
