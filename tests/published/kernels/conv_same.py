# task: conv_norm
# truth: right
# speed: not slower
# claimed: 1.00
import torch
from torch import nn



class ModelNew(nn.Module):
    def __init__(self, channels):
        super().__init__()
        self.conv = nn.Conv2d(channels, channels, 3, padding=1)
        self.norm = nn.BatchNorm2d(channels)
        self.eval()

    def forward(self, x):
        return self.norm(self.conv(x)).relu_()
