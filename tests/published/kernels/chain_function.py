# task: chain
# truth: right
# speed: even
# claimed: 1.00
# ModelNew is a function.
import torch
from torch import nn



class Fused(nn.Module):
    def __init__(self, slope, shift):
        super().__init__()
        self.slope, self.shift = slope, shift

    def forward(self, x):
        return torch.relu(x * self.slope + self.shift) * x + 1.0


def ModelNew():
    return Fused(slope=1.5, shift=0.5)
