import torch
from torch import nn


class Model(nn.Module):
    def forward(self, x):
        return torch.topk(x, 5, dim=1)


def get_inputs():
    return [torch.randint(0, 9, (20, 30)).float() - 4]
