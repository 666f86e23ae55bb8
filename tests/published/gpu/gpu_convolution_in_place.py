# task: gpu_convolution
# truth: right
# speed: not slower
# claimed: 1.10
# only: cuda
import torch
from torch import nn


class ModelNew(nn.Module):
    def __init__(self, channels):
        super().__init__()
        self.conv = nn.Conv2d(channels, channels, 3, padding=1)

    def forward(self, x):
        return self.conv(x).relu_()
