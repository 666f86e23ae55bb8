# task: chain
# truth: right
# speed: not slower
# claimed: 1.60
import torch
from torch import nn


class ModelNew(nn.Module):
    def forward(self, x):
        y = torch.mul(x, 1.5).add_(0.5).relu_()
        return y.mul_(x).add_(1.0)
