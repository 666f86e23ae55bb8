import torch
from torch import nn


class Model(nn.Module):
    def forward(self, a, b):
        return a * b - a // 3


def get_inputs():
    return [torch.randint(0, 100, (40, 9)), torch.randint(0, 50, (40, 9))]
