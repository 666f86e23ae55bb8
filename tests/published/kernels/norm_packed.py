# task: linear_norm
# truth: weaker
# speed: any
# claimed: 1.30
# The product is packed; the normalisation has its parameters.
import torch
import torch.nn.functional as F
from torch import nn


class ModelNew(nn.Module):
    def __init__(self, width, out):
        super().__init__()
        linear = nn.Linear(width, out)
        self.register_buffer('packed', torch.cat([linear.weight.detach().t(), linear.bias.detach()[None]]))
        self.norm = nn.LayerNorm(out)

    def forward(self, x):
        return torch.relu(self.norm(torch.addmm(self.packed[-1], x, self.packed[:-1])))
