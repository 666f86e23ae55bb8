"""Behind a deconv3: a chain."""

import torch
import torch.nn.functional as F
from torch import nn

SIZES = {
    "full": {"batch": 8, "inner": 16, "outer": 32, "side": 32},
    "small": {"batch": 2, "inner": 2, "outer": 8, "side": 4},
}
SIZE = SIZES["full"]


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = nn.ConvTranspose3d(SIZE["inner"], SIZE["outer"], 3, stride=2, padding=1, output_padding=1)

    def forward(self, x):
        y = self.layer(x)
        return F.max_pool3d(F.max_pool3d(y, 2), 2).sum(dim=1, keepdim=True)


def get_inputs():
    return [torch.rand(SIZE["batch"], SIZE["inner"], SIZE["side"], SIZE["side"], SIZE["side"])]


def get_init_inputs():
    return []
