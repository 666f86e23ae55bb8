# task: two_products
# truth: right
# truth on cuda: wrong
# speed: faster
# claimed: 2.00
# Plain tensors in a list, found by their values; `.cuda()` leaves them on the host, so that a GPU has no product of them.
import torch
from torch import nn



class ModelNew(nn.Module):
    def __init__(self, size):
        super().__init__()
        self.weights = [torch.randn(size, size) / size**0.5 for _ in range(2)]

    def forward(self, x):
        return x @ (self.weights[0] + self.weights[1])
