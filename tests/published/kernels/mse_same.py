# task: mse
# truth: right
# speed: even
# claimed: 1.00
import torch
from torch import nn


class ModelNew(nn.Module):
    def forward(self, x, y):
        return ((x - y) ** 2).mean()
