# task: linear_norm
# truth: right
# speed: any
# claimed: 1.20
# Scale and shift are told apart by their order.
import torch
import torch.nn.functional as F
from torch import nn


class ModelNew(nn.Module):
    def __init__(self, width, out):
        super().__init__()
        linear = nn.Linear(width, out)
        self.w, self.c = linear.weight, linear.bias
        self.gamma = nn.Parameter(torch.ones(out))
        self.beta = nn.Parameter(torch.zeros(out))

    def forward(self, x):
        return F.layer_norm(F.linear(x, self.w, self.c), self.gamma.shape, self.gamma, self.beta).relu_()
