# task: conv_norm
# truth: right
# speed: faster
# claimed: 1.80
# Folded at the first call: right as long as weights are constant.
import torch
import torch.nn.functional as F
from torch import nn



class ModelNew(nn.Module):
    def __init__(self, channels):
        super().__init__()
        self.conv = nn.Conv2d(channels, channels, 3, padding=1)
        self.norm = nn.BatchNorm2d(channels)
        self.folded = None
        self.eval()

    def forward(self, x):
        if self.folded is None:
            scale = self.norm.weight / torch.sqrt(self.norm.running_var + self.norm.eps)
            bias = (self.conv.bias - self.norm.running_mean) * scale + self.norm.bias
            self.folded = self.conv.weight * scale[:, None, None, None], bias
        return F.conv2d(x, *self.folded, padding=1).relu_()
