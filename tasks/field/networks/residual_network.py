"""Blocks with a way round them, in inference."""

import torch
from torch import nn

SIZES = {
    "full": {"batch": 64, "side": 224, "width": 64},
    "small": {"batch": 1, "side": 16, "width": 4},
}
SIZE = SIZES["full"]


class Block(nn.Module):
    """Two convolutions and a way round them."""

    def __init__(self, width, wider, stride):
        super().__init__()
        self.first, self.first_norm = nn.Conv2d(width, wider, 3, stride, 1, bias=False), nn.BatchNorm2d(wider)
        self.second, self.second_norm = nn.Conv2d(wider, wider, 3, 1, 1, bias=False), nn.BatchNorm2d(wider)
        self.shortcut = nn.Sequential(nn.Conv2d(width, wider, 1, stride, bias=False), nn.BatchNorm2d(wider))

    def forward(self, x):
        y = torch.relu(self.first_norm(self.first(x)))
        return torch.relu(self.second_norm(self.second(y)) + self.shortcut(x))


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        w = SIZE["width"]
        self.layers = nn.Sequential(
            nn.Conv2d(3, w, 7, 2, 3), Block(w, w, 1), Block(w, 2 * w, 2), Block(2 * w, 4 * w, 2)
        )
        self.head = nn.Linear(4 * w, 100)
        self.eval()

    def forward(self, x):
        y = self.layers(x)
        return self.head(y.mean(dim=(2, 3)))


def get_inputs():
    return [torch.rand(SIZE["batch"], 3, SIZE["side"], SIZE["side"])]


def get_init_inputs():
    return []
