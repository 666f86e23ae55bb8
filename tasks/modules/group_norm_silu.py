"""Group normalisation and SiLU, as diffusion models have before each convolution."""

import torch
from torch import nn
from torch.nn import functional

SIZES = {
    "small": {"batch": 1, "channels": 16, "groups": 4, "side": 16},
    "medium": {"batch": 4, "channels": 64, "groups": 16, "side": 32},
    "large": {"batch": 16, "channels": 320, "groups": 32, "side": 64},
}
SIZE = SIZES["medium"]


class Model(nn.Module):
    """silu(norm(x))."""

    def __init__(self, groups: int, channels: int) -> None:
        super().__init__()
        self.norm = nn.GroupNorm(groups, channels)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return functional.silu(self.norm(x))


def get_inputs() -> list[torch.Tensor]:
    return [torch.randn(SIZE["batch"], SIZE["channels"], SIZE["side"], SIZE["side"])]


def get_init_inputs() -> list[object]:
    return [SIZE["groups"], SIZE["channels"]]
