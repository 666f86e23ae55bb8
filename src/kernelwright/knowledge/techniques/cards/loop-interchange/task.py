"""A product of two matrices."""

import torch
from torch import nn

ROWS = 192
COLUMNS = 256
INNER = 224


class Model(nn.Module):
    def forward(self, a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
        return a @ b


def get_inputs() -> list[torch.Tensor]:
    return [torch.randn(ROWS, INNER), torch.randn(INNER, COLUMNS)]
