import torch
from torch import nn


class Model(nn.Module):
    def forward(self, x):
        return x * 1.5 + 0.25


def get_inputs():
    return [torch.randn(50, 50).half()]
