"""Maxima of dilated windows of a volume."""

import torch
from torch import nn
from torch.nn import functional

SIZES = {
    "small": {"batch": 2, "channels": 4, "side": 12},
    "medium": {"batch": 8, "channels": 16, "side": 24},
    "large": {"batch": 16, "channels": 32, "side": 48},
}
SIZE = SIZES["medium"]


class Model(nn.Module):
    """Windows of three by three by three, every third element, two apart."""

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return functional.max_pool3d(x, kernel_size=3, stride=2, padding=1, dilation=3)


def get_inputs() -> list[torch.Tensor]:
    side = SIZE["side"]
    return [torch.randn(SIZE["batch"], SIZE["channels"], side, side, side)]


def get_init_inputs() -> list[object]:
    return []
