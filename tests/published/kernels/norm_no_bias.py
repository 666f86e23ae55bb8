# task: linear_norm
# truth: wrong
# claimed: 1.30
import torch
import torch.nn.functional as F
from torch import nn


class ModelNew(nn.Module):
    def __init__(self, width, out):
        super().__init__()
        self.linear = nn.Linear(width, out)
        self.norm = nn.LayerNorm(out)

    def forward(self, x):
        return F.relu(self.norm(x @ self.linear.weight.t()))
