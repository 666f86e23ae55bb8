"""A small language model: tokens in, scores of the next ones out."""

import torch
import torch.nn.functional as F
from torch import nn

SIZES = {
    "full": {"batch": 8, "tokens": 512, "width": 768, "heads": 12, "words": 16384},
    "small": {"batch": 2, "tokens": 6, "width": 16, "heads": 2, "words": 40},
}
SIZE = SIZES["full"]


class Encoder(nn.Module):
    """Attention and two layers, each behind a norm."""

    def __init__(self, width, heads, causal):
        super().__init__()
        self.heads, self.causal = heads, causal
        self.before, self.between = nn.LayerNorm(width), nn.LayerNorm(width)
        self.qkv, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.inner, self.outer = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)

    def forward(self, x):
        batch, tokens, width = x.shape
        shape = batch, tokens, 3, self.heads, width // self.heads
        q, k, v = self.qkv(self.before(x)).view(shape).permute(2, 0, 3, 1, 4)
        seen = F.scaled_dot_product_attention(q, k, v, is_causal=self.causal)
        x = x + self.out(seen.transpose(1, 2).reshape(batch, tokens, width))
        return x + self.outer(F.gelu(self.inner(self.between(x))))


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.words, self.places = (
            nn.Embedding(SIZE["words"], SIZE["width"]),
            nn.Embedding(SIZE["tokens"], SIZE["width"]),
        )
        self.layers = nn.Sequential(*(Encoder(SIZE["width"], SIZE["heads"], True) for _ in range(4)))
        self.norm, self.head = nn.LayerNorm(SIZE["width"]), nn.Linear(SIZE["width"], SIZE["words"], bias=False)

    def forward(self, x):
        places = torch.arange(x.shape[1], device=x.device)
        y = self.layers(self.words(x) + self.places(places))
        return self.head(self.norm(y))


def get_inputs():
    return [torch.randint(0, SIZE["words"], (SIZE["batch"], SIZE["tokens"]))]


def get_init_inputs():
    return []
