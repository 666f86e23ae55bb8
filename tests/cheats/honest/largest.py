import torch
from torch import nn


class Model(nn.Module):
    def forward(self, x):
        return x.argmax(1)


def get_inputs():
    return [torch.randint(0, 6, (64, 40)).float()]
