import torch
from torch import nn


class Model(nn.Module):
    def forward(self, x):
        return torch.clamp(x, -0.5, 0.75)


def get_inputs():
    return [torch.randn(2048, 2048)]
