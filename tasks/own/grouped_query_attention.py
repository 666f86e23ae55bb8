"""Causal attention in which several heads share keys and values."""

import math

import torch
from torch import nn

SIZES = {
    "small": {"batch": 1, "heads": 4, "groups": 2, "tokens": 32, "features": 16},
    "medium": {"batch": 2, "heads": 8, "groups": 2, "tokens": 128, "features": 64},
    "large": {"batch": 4, "heads": 32, "groups": 8, "tokens": 1024, "features": 128},
}
SIZE = SIZES["medium"]


class Model(nn.Module):
    """Each group of heads reads the same keys and values; no token sees a later one."""

    def forward(self, q: torch.Tensor, k: torch.Tensor, v: torch.Tensor) -> torch.Tensor:
        batch, heads, tokens, features = q.shape
        grouped = q.view(batch, k.shape[1], -1, tokens, features)
        scores = grouped @ k[:, :, None].transpose(-2, -1) / math.sqrt(features)
        later = torch.ones(tokens, tokens, dtype=torch.bool, device=q.device).triu(1)
        weights = torch.softmax(scores.masked_fill(later, float("-inf")), dim=-1)
        return (weights @ v[:, :, None]).reshape(batch, heads, tokens, features)


def get_inputs() -> list[torch.Tensor]:
    def drawn(heads: int) -> torch.Tensor:
        return torch.randn(SIZE["batch"], heads, SIZE["tokens"], SIZE["features"])

    return [drawn(SIZE["heads"]), drawn(SIZE["groups"]), drawn(SIZE["groups"])]


def get_init_inputs() -> list[object]:
    return []
