# task: chain
# truth: right
# speed: even
# claimed: 1.00
import torch
from torch import nn


class ModelNew(nn.Module):
    def forward(self, x):
        return torch.relu(x * 1.5 + 0.5) * x + 1.0
