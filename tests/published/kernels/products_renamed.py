# task: two_products
# truth: right
# speed: faster
# claimed: 2.00
# Other names, found by their values.
import torch
from torch import nn


class ModelNew(nn.Module):
    def __init__(self, size):
        super().__init__()
        self.left = nn.Parameter(torch.randn(size, size) / size**0.5)
        self.right = nn.Parameter(torch.randn(size, size) / size**0.5)

    def forward(self, x):
        return x @ (self.left + self.right)
