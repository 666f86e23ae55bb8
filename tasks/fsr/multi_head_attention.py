"""Self-attention of several heads, from given queries, keys and values."""

import math

import torch
from torch import nn

SIZES = {
    "small": {"tokens": 64, "features": 32, "heads": 4},
    "medium": {"tokens": 256, "features": 128, "heads": 8},
    "large": {"tokens": 2048, "features": 1024, "heads": 16},
}
SIZE = SIZES["medium"]


class Model(nn.Module):
    """Each head's softmax of scaled products of queries and keys, times its values."""

    def __init__(self, heads: int) -> None:
        super().__init__()
        self.heads = heads

    def forward(self, q: torch.Tensor, k: torch.Tensor, v: torch.Tensor) -> torch.Tensor:
        tokens, features = q.shape
        q, k, v = (t.view(tokens, self.heads, -1).transpose(0, 1) for t in (q, k, v))
        scores = q @ k.transpose(-2, -1) / math.sqrt(features // self.heads)
        return (torch.softmax(scores, dim=-1) @ v).transpose(0, 1).reshape(tokens, features)


def get_inputs() -> list[torch.Tensor]:
    return [torch.randn(SIZE["tokens"], SIZE["features"]) for _ in range(3)]


def get_init_inputs() -> list[object]:
    return [SIZE["heads"]]
