# task: mse
# truth: right
# speed: any
# claimed: 1.50
import torch
from torch import nn


class ModelNew(nn.Module):
    def forward(self, x, y):
        return nn.functional.mse_loss(x, y)
