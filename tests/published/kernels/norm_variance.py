# task: linear_norm
# truth: wrong
# claimed: 1.20
# The unbiased variance.
import torch
import torch.nn.functional as F
from torch import nn


class ModelNew(nn.Module):
    def __init__(self, width, out):
        super().__init__()
        self.linear = nn.Linear(width, out)
        self.norm = nn.LayerNorm(out)

    def forward(self, x):
        y = self.linear(x)
        y = (y - y.mean(-1, keepdim=True)) / y.std(-1, keepdim=True)
        return F.relu(y * self.norm.weight + self.norm.bias)
