# task: chain
# truth: wrong
# claimed: 1.00
import torch
from torch import nn


class ModelNew(nn.Module):
    def forward(self, x):
        raise RuntimeError("not for this shape")
