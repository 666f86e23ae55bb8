# task: tokens
# truth: right
# speed: even
# claimed: 1.00
import torch
from torch import nn



class ModelNew(nn.Module):
    def __init__(self, words, width):
        super().__init__()
        self.embedding = nn.Embedding(words, width)

    def forward(self, tokens):
        return self.embedding(tokens).mean(1)
