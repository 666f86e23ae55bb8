"""What a language model begins with: token and position embeddings, added and normalised."""

import torch
from torch import nn

SIZES = {
    "small": {"batch": 2, "tokens": 16, "words": 100, "width": 64},
    "medium": {"batch": 8, "tokens": 256, "words": 8000, "width": 256},
    "large": {"batch": 64, "tokens": 1024, "words": 50000, "width": 1024},
}
SIZE = SIZES["medium"]


class Model(nn.Module):
    """norm(word[ids] + position)."""

    def __init__(self, words: int, tokens: int, width: int) -> None:
        super().__init__()
        self.word = nn.Embedding(words, width)
        self.position = nn.Parameter(torch.randn(tokens, width))
        self.norm = nn.LayerNorm(width)

    def forward(self, ids: torch.Tensor) -> torch.Tensor:
        return self.norm(self.word(ids) + self.position)


def get_inputs() -> list[torch.Tensor]:
    return [torch.randint(0, SIZE["words"], (SIZE["batch"], SIZE["tokens"]))]


def get_init_inputs() -> list[object]:
    return [SIZE["words"], SIZE["tokens"], SIZE["width"]]
