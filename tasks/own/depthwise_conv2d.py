"""A filter of its own for each channel of an image."""

import torch
from torch import nn

SIZES = {
    "small": {"batch": 2, "channels": 8, "side": 20},
    "medium": {"batch": 8, "channels": 32, "side": 56},
    "large": {"batch": 32, "channels": 128, "side": 112},
}
SIZE = SIZES["medium"]


class Model(nn.Module):
    """Three by three, zeros around, with bias."""

    def __init__(self, channels: int) -> None:
        super().__init__()
        self.convolution = nn.Conv2d(channels, channels, 3, padding=1, groups=channels)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.convolution(x)


def get_inputs() -> list[torch.Tensor]:
    return [torch.randn(SIZE["batch"], SIZE["channels"], SIZE["side"], SIZE["side"])]


def get_init_inputs() -> list[object]:
    return [SIZE["channels"]]
