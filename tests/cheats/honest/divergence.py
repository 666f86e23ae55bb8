import torch
from torch import nn


class Model(nn.Module):
    def forward(self, x, y):
        return nn.functional.kl_div(x.log(), y, reduction="batchmean")


def get_inputs():
    return [torch.softmax(torch.randn(30, 25), -1), torch.softmax(torch.randn(30, 25), -1)]
