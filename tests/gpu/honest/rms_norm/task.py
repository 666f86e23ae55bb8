import torch
from torch import nn


class Model(nn.Module):
    def forward(self, x):
        return x / torch.sqrt((x * x).mean(-1, keepdim=True) + 1e-6)


def get_inputs():
    return [torch.randn(2048, 2048)]
