"""Four heads of queries share one of keys."""

import torch
import torch.nn.functional as F
from torch import nn

SIZES = {
    "full": {"batch": 8, "heads": 32, "tokens": 2048, "width": 128},
    "small": {"batch": 1, "heads": 4, "tokens": 12, "width": 8},
}
SIZE = SIZES["full"]


class Model(nn.Module):
    def forward(self, q, k, v):
        return F.scaled_dot_product_attention(q, k.repeat_interleave(4, 1), v.repeat_interleave(4, 1))


def get_inputs():
    return [
        torch.randn(SIZE["batch"], SIZE["heads"], SIZE["tokens"], SIZE["width"], dtype=torch.bfloat16),
        torch.randn(SIZE["batch"], SIZE["heads"] // 4, SIZE["tokens"], SIZE["width"], dtype=torch.bfloat16),
        torch.randn(SIZE["batch"], SIZE["heads"] // 4, SIZE["tokens"], SIZE["width"], dtype=torch.bfloat16),
    ]


def get_init_inputs():
    return []
