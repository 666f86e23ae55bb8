"""Windows of an image side by side, as a product of matrices wants them."""

import torch
from torch import nn
from torch.nn import functional

SIZES = {
    "small": {"batch": 2, "channels": 4, "side": 16},
    "medium": {"batch": 8, "channels": 16, "side": 56},
    "large": {"batch": 32, "channels": 32, "side": 112},
}
SIZE = SIZES["medium"]


class Model(nn.Module):
    """Three by three, zeros around: nine times the image."""

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return functional.unfold(x, kernel_size=3, padding=1)


def get_inputs() -> list[torch.Tensor]:
    return [torch.randn(SIZE["batch"], SIZE["channels"], SIZE["side"], SIZE["side"])]


def get_init_inputs() -> list[object]:
    return []
