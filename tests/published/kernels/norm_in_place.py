# task: linear_norm
# truth: right
# speed: not slower
# claimed: 1.20
import torch
import torch.nn.functional as F
from torch import nn


class ModelNew(nn.Module):
    def __init__(self, width, out):
        super().__init__()
        self.linear = nn.Linear(width, out)
        self.norm = nn.LayerNorm(out)

    def forward(self, x):
        return F.layer_norm(F.linear(x, self.linear.weight, self.linear.bias), self.norm.normalized_shape, self.norm.weight, self.norm.bias).relu_()
