# task: linear_norm
# truth: right
# speed: even
# claimed: 1.00
import torch
import torch.nn.functional as F
from torch import nn


class ModelNew(nn.Module):
    def __init__(self, width, out):
        super().__init__()
        self.linear = nn.Linear(width, out)
        self.norm = nn.LayerNorm(out)

    def forward(self, x):
        return F.relu(self.norm(self.linear(x)))
