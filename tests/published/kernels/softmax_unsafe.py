# task: softmax
# truth: wrong
# claimed: 1.50
# Overflows on large inputs.
import torch
from torch import nn


class ModelNew(nn.Module):
    def forward(self, x):
        e = torch.exp(x)
        return e / e.sum(-1, keepdim=True)
