# task: mse
# truth: right
# speed: any
# claimed: 1.50
# Keyword arguments of its own.
import torch
from torch import nn


class ModelNew(nn.Module):
    def forward(self, x, y, *, reduction="mean"):
        return nn.functional.mse_loss(input=x, target=y, reduction=reduction)
