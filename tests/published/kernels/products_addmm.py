# task: two_products
# truth: right
# speed: not slower
# claimed: 1.10
import torch
from torch import nn


class ModelNew(nn.Module):
    def __init__(self, size):
        super().__init__()
        self.a = nn.Parameter(torch.randn(size, size) / size**0.5)
        self.b = nn.Parameter(torch.randn(size, size) / size**0.5)

    def forward(self, x):
        return torch.addmm(x @ self.a, x, self.b)
