# task: conv_norm
# truth: right
# speed: faster
# claimed: 1.80
# The normalisation is folded into the convolution, once.
import torch
import torch.nn.functional as F
from torch import nn



class ModelNew(nn.Module):
    def __init__(self, channels):
        super().__init__()
        self.folded = None

    def load_reference(self, state):
        scale = state["norm.weight"] / torch.sqrt(state["norm.running_var"] + 1e-5)
        bias = (state["conv.bias"] - state["norm.running_mean"]) * scale + state["norm.bias"]
        self.folded = state["conv.weight"] * scale[:, None, None, None], bias

    def forward(self, x):
        return F.conv2d(x, *self.folded, padding=1).relu_()
