# task: gpu_products
# truth: weaker
# speed: faster
# claimed: 2.10
# only: cuda
import torch
from torch import nn



class ModelNew(nn.Module):
    def __init__(self, size):
        super().__init__()
        a, b = (torch.randn(size, size) / size**0.5 for _ in range(2))
        self.register_buffer("sum", a + b)

    def forward(self, x):
        return x @ self.sum
