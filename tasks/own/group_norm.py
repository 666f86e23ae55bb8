"""Group normalisation of images, with weight and bias for each channel."""

import torch
from torch import nn

SIZES = {
    "small": {"batch": 2, "channels": 16, "groups": 4, "side": 16},
    "medium": {"batch": 8, "channels": 64, "groups": 8, "side": 32},
    "large": {"batch": 32, "channels": 128, "groups": 16, "side": 64},
}
SIZE = SIZES["medium"]


class Model(nn.Module):
    """Each group of channels less its mean, over its deviation."""

    def __init__(self, groups: int, channels: int) -> None:
        super().__init__()
        self.norm = nn.GroupNorm(groups, channels)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.norm(x)


def get_inputs() -> list[torch.Tensor]:
    return [torch.randn(SIZE["batch"], SIZE["channels"], SIZE["side"], SIZE["side"])]


def get_init_inputs() -> list[object]:
    return [SIZE["groups"], SIZE["channels"]]
