import torch
from torch import nn


class Model(nn.Module):
    def forward(self, table, rows):
        return table[rows]


def get_inputs():
    return [torch.randn(20, 12), torch.randint(0, 20, (35,))]
