# task: softmax
# truth: wrong
# claimed: 1.00
import torch
from torch import nn


class ModelNew(nn.Module):
    def forward(self, x):
        return torch.softmax(x, 0)
