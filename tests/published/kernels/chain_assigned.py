# task: chain
# truth: right
# speed: even
# claimed: 1.00
# ModelNew is an assignment.
import torch
from torch import nn



class Fused(nn.Module):
    def forward(self, x):
        return torch.relu(x * 1.5 + 0.5) * x + 1.0


ModelNew = Fused
