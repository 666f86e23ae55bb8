"""Sums of rows of a table that are named by indices."""

import torch
from torch import nn

DOMAINS = {1: ("index", 131072)}
WIDTH = 32
BAGS = 32768
BAG = 8


class Model(nn.Module):
    def forward(self, table: torch.Tensor, indices: torch.Tensor) -> torch.Tensor:
        return table[indices].sum(dim=1)


def get_inputs() -> list[torch.Tensor]:
    return [torch.randn(131072, WIDTH), torch.randint(0, 131072, (BAGS, BAG))]
