# task: chain
# truth: wrong
# claimed: 2.00
# The last addition is forgotten.
import torch
from torch import nn


class ModelNew(nn.Module):
    def forward(self, x):
        return torch.relu(x * 1.5 + 0.5) * x
