"""Correlation of one image with one large filter, where it fits."""

import torch
from torch import nn
from torch.nn import functional

SIZES = {
    "small": {"side": 64, "window": 9},
    "medium": {"side": 512, "window": 24},
    "large": {"side": 2048, "window": 24},
}
SIZE = SIZES["medium"]


class Model(nn.Module):
    """Sum over the filter at every place where all of it lies within the image."""

    def forward(self, image: torch.Tensor, window: torch.Tensor) -> torch.Tensor:
        return functional.conv2d(image[None, None], window[None, None])[0, 0]


def get_inputs() -> list[torch.Tensor]:
    return [torch.randn(SIZE["side"], SIZE["side"]), torch.randn(SIZE["window"], SIZE["window"])]


def get_init_inputs() -> list[object]:
    return []
