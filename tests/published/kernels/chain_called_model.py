# task: chain
# truth: right
# speed: even
# claimed: 1.00
# The only model is called Model.
import torch
from torch import nn


class Model(nn.Module):
    def forward(self, x):
        return torch.relu(x * 1.5 + 0.5) * x + 1.0
