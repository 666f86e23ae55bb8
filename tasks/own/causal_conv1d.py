"""Short convolution along time that reads no later sample, then SiLU."""

import torch
from torch import nn
from torch.nn import functional

SIZES = {
    "small": {"batch": 2, "channels": 16, "length": 64, "taps": 4},
    "medium": {"batch": 8, "channels": 128, "length": 512, "taps": 4},
    "large": {"batch": 16, "channels": 2048, "length": 4096, "taps": 4},
}
SIZE = SIZES["medium"]


class Model(nn.Module):
    """Each channel has a filter of its own, as in state-space models."""

    def __init__(self, channels: int, taps: int) -> None:
        super().__init__()
        self.taps = taps
        self.convolution = nn.Conv1d(channels, channels, taps, groups=channels)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return functional.silu(self.convolution(functional.pad(x, (self.taps - 1, 0))))


def get_inputs() -> list[torch.Tensor]:
    return [torch.randn(SIZE["batch"], SIZE["channels"], SIZE["length"])]


def get_init_inputs() -> list[object]:
    return [SIZE["channels"], SIZE["taps"]]
