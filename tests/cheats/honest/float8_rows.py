import torch
from torch import nn


class Model(nn.Module):
    def forward(self, x):
        scale = x.abs().amax(-1, keepdim=True).clamp(min=1e-12) / 448
        return (x / scale).to(torch.float8_e4m3fn), scale


def get_inputs():
    return [torch.randn(64, 512)]
