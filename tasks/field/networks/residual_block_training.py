"""One block with the statistics of its batch."""

import torch
from torch import nn

SIZES = {
    "full": {"batch": 64, "side": 112, "width": 64},
    "small": {"batch": 2, "side": 6, "width": 3},
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
        self.block = Block(SIZE["width"], SIZE["width"], 1)

    def forward(self, x):
        return self.block(x)


def get_inputs():
    return [torch.rand(SIZE["batch"], SIZE["width"], SIZE["side"], SIZE["side"])]


def get_init_inputs():
    return []
