# task: gpu_convolution
# truth: right
# speed: even
# claimed: 1.00
# only: cuda
# PyTorch's own convolution under its default flags.
import torch
from torch import nn


class ModelNew(nn.Module):
    def __init__(self, channels):
        super().__init__()
        self.conv = nn.Conv2d(channels, channels, 3, padding=1)

    def forward(self, x):
        return torch.relu(self.conv(x))
