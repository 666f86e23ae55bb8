"""Softmax of attention scores in which no token sees a later one."""

import torch
from torch import nn

SIZES = {
    "small": {"heads": 4, "tokens": 48},
    "medium": {"heads": 16, "tokens": 256},
    "large": {"heads": 64, "tokens": 1024},
}
SIZE = SIZES["medium"]


class Model(nn.Module):
    """What lies above the diagonal counts for nothing."""

    def forward(self, scores: torch.Tensor) -> torch.Tensor:
        tokens = scores.shape[-1]
        later = torch.ones(tokens, tokens, dtype=torch.bool, device=scores.device).triu(1)
        return torch.softmax(scores.masked_fill(later, float("-inf")), dim=-1)


def get_inputs() -> list[torch.Tensor]:
    return [torch.randn(SIZE["heads"], SIZE["tokens"], SIZE["tokens"])]


def get_init_inputs() -> list[object]:
    return []
