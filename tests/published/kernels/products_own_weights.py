# task: two_products
# truth: wrong
# claimed: 2.00
# Weights that are none of the reference's.
import torch
from torch import nn



class ModelNew(nn.Module):
    def __init__(self, size):
        super().__init__()
        torch.manual_seed(1)
        self.register_buffer("own", torch.randn(size, size))

    def forward(self, x):
        return x @ self.own
