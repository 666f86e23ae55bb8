# task: softmax
# truth: right
# speed: faster
# claimed: 3.00
# PyTorch's own operator: the share is told.
import torch
from torch import nn


class ModelNew(nn.Module):
    def forward(self, x):
        return torch.softmax(x, -1)
