import torch
from torch import nn


class Model(nn.Module):
    def forward(self, x, scale, shift):
        return x * scale + shift


def get_inputs():
    return [torch.randn(2048, 2048), torch.randn(2048), torch.randn(2048, 1)]
