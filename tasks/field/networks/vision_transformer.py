"""Patches as tokens."""

import torch
import torch.nn.functional as F
from torch import nn

SIZES = {
    "full": {"batch": 32, "side": 224, "patch": 16, "width": 512, "heads": 8},
    "small": {"batch": 1, "side": 8, "patch": 4, "width": 16, "heads": 2},
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
        self.patches = nn.Conv2d(3, SIZE["width"], SIZE["patch"], SIZE["patch"])
        self.layers = nn.Sequential(*(Encoder(SIZE["width"], SIZE["heads"], False) for _ in range(4)))
        self.head = nn.Linear(SIZE["width"], 100)

    def forward(self, x):
        y = self.patches(x).flatten(2).transpose(1, 2)
        return self.head(self.layers(y).mean(dim=1))


def get_inputs():
    return [torch.rand(SIZE["batch"], 3, SIZE["side"], SIZE["side"])]


def get_init_inputs():
    return []
