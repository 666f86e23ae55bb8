import torch
from torch import nn


class Model(nn.Module):
    def forward(self, x):
        return torch.clamp((x * 20).round(), -127, 127).to(torch.int8)


def get_inputs():
    return [torch.randn(2048, 2048)]
