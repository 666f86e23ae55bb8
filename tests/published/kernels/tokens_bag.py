# task: tokens
# truth: right
# speed: faster
# claimed: 4.00
# Nothing as large as all embedded tokens is written.
import torch
import torch.nn.functional as F
from torch import nn



class ModelNew(nn.Module):
    def __init__(self, words, width):
        super().__init__()
        self.table = nn.EmbeddingBag(words, width, mode="mean")

    def forward(self, tokens):
        return self.table(tokens)
