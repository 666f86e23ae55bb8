"""Depthwise convolutions between narrow ones, in inference."""

import torch
from torch import nn

SIZES = {
    "full": {"batch": 64, "side": 224, "width": 32},
    "small": {"batch": 1, "side": 16, "width": 4},
}
SIZE = SIZES["full"]


class Inverted(nn.Module):
    """Wider, depthwise, narrower again."""

    def __init__(self, width, out, stride):
        super().__init__()
        inner = width * 4
        self.layers = nn.Sequential(
            nn.Conv2d(width, inner, 1, bias=False),
            nn.BatchNorm2d(inner),
            nn.ReLU6(),
            nn.Conv2d(inner, inner, 3, stride, 1, groups=inner, bias=False),
            nn.BatchNorm2d(inner),
            nn.ReLU6(),
            nn.Conv2d(inner, out, 1, bias=False),
            nn.BatchNorm2d(out),
        )

    def forward(self, x):
        y = self.layers(x)
        return x + y if x.shape == y.shape else y


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        w = SIZE["width"]
        self.layers = nn.Sequential(
            nn.Conv2d(3, w, 3, 2, 1), Inverted(w, w, 1), Inverted(w, 2 * w, 2), Inverted(2 * w, 2 * w, 1)
        )
        self.head = nn.Linear(2 * w, 100)
        self.eval()

    def forward(self, x):
        return self.head(self.layers(x).mean(dim=(2, 3)))


def get_inputs():
    return [torch.rand(SIZE["batch"], 3, SIZE["side"], SIZE["side"])]


def get_init_inputs():
    return []
