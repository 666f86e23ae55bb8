# task: mse
# truth: right
# speed: faster
# speed on cuda: any
# claimed: 1.50
import torch
from torch import nn


class ModelNew(nn.Module):
    def forward(self, x, y):
        d = (x - y).flatten()
        return torch.dot(d, d) / d.numel()
