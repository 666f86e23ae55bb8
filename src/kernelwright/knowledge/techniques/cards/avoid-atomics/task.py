"""The sum of absolute values of each row."""

import torch
from torch import nn

ROWS = 32
COLUMNS = 512


class Model(nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x.abs().sum(dim=1)


def get_inputs() -> list[torch.Tensor]:
    return [torch.randn(ROWS, COLUMNS)]
