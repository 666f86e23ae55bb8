# task: three_layers
# truth: right
# speed: faster
# claimed: 3.00
# One product instead of three: the true speedup is nearly three.
import torch
import torch.nn.functional as F
from torch import nn



class ModelNew(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.weight, self.bias = None, None

    def load_reference(self, state):
        weight, bias = state["first.weight"].double(), state["first.bias"].double()
        for name in ("second", "third"):
            layer = state[f"{name}.weight"].double()
            weight, bias = layer @ weight, layer @ bias + state[f"{name}.bias"]
        self.weight, self.bias = weight.float(), bias.float()

    def forward(self, x):
        return F.linear(x, self.weight, self.bias)
