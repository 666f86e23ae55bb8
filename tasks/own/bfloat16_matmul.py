"""Product of two matrices in bfloat16."""

import torch
from torch import nn

SIZES = {
    "small": {"m": 96, "k": 128, "n": 64},
    "medium": {"m": 512, "k": 768, "n": 512},
    "large": {"m": 4096, "k": 4096, "n": 4096},
}
SIZE = SIZES["medium"]


class Model(nn.Module):
    """Factors and product are bfloat16; sums are the implementation's to keep."""

    def forward(self, a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
        return a @ b


def get_inputs() -> list[torch.Tensor]:
    a, b = torch.randn(SIZE["m"], SIZE["k"]), torch.randn(SIZE["k"], SIZE["n"])
    return [a.bfloat16(), b.bfloat16()]


def get_init_inputs() -> list[object]:
    return []
