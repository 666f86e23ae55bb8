import torch
from torch import nn

COMPARATORS = {0: "statistical"}


class Model(nn.Module):
    def forward(self, x):
        return nn.functional.dropout(x, 0.25)


def get_inputs():
    return [torch.randn(32, 32)]
