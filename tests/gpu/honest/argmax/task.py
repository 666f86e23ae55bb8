import torch
from torch import nn


class Model(nn.Module):
    def forward(self, x):
        return x.argmax(1)


def get_inputs():
    return [torch.randint(-50, 50, (2048, 2048)).float()]
