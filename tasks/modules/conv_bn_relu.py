"""A block of an image network in eval mode: convolution, batch normalisation, ReLU."""

import torch
from torch import nn
from torch.nn import functional

SIZES = {
    "small": {"batch": 1, "channels": 8, "side": 16},
    "medium": {"batch": 4, "channels": 32, "side": 56},
    "large": {"batch": 64, "channels": 128, "side": 56},
}
SIZE = SIZES["medium"]


class Model(nn.Module):
    """relu(norm(conv(x))), with running statistics."""

    def __init__(self, channels: int) -> None:
        super().__init__()
        self.conv = nn.Conv2d(channels, channels, 3, padding=1, bias=False)
        self.norm = nn.BatchNorm2d(channels)
        self.norm.running_mean.normal_(std=0.1)
        self.norm.running_var.uniform_(0.5, 1.5)
        self.eval()

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return functional.relu(self.norm(self.conv(x)))


def get_inputs() -> list[torch.Tensor]:
    return [torch.randn(SIZE["batch"], SIZE["channels"], SIZE["side"], SIZE["side"])]


def get_init_inputs() -> list[object]:
    return [SIZE["channels"]]
