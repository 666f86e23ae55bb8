# task: three_layers
# truth: wrong
# claimed: 1.00
import torch
from torch import nn


class ModelNew(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.first = nn.Linear(width, width)
        self.second = nn.Linear(width, width)
        self.third = nn.Linear(width, width)

    def forward(self, x):
        return self.first(self.second(self.third(x)))
