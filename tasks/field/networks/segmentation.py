"""Down, up, and across."""

import torch
import torch.nn.functional as F
from torch import nn

SIZES = {
    "full": {"batch": 16, "side": 512, "width": 32},
    "small": {"batch": 1, "side": 8, "width": 4},
}
SIZE = SIZES["full"]


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        w = SIZE["width"]
        self.down, self.low = nn.Conv2d(3, w, 3, padding=1), nn.Conv2d(w, 2 * w, 3, padding=1)
        self.up, self.last = nn.ConvTranspose2d(2 * w, w, 2, 2), nn.Conv2d(2 * w, 4, 1)

    def forward(self, x):
        top = F.silu(self.down(x))
        low = F.silu(self.low(F.max_pool2d(top, 2)))
        return self.last(torch.cat([top, self.up(low)], dim=1))


def get_inputs():
    return [torch.rand(SIZE["batch"], 3, SIZE["side"], SIZE["side"])]


def get_init_inputs():
    return []
