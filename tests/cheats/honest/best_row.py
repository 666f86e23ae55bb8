import torch
from torch import nn


class Model(nn.Module):
    def forward(self, x):
        return (x @ x.t()).argmin(1)


def get_inputs():
    return [torch.randn(30, 20)]
