"""A product of two matrices in half precision."""

import torch
from torch import nn

ROWS = 64
COLUMNS = 128
INNER = 192


class Model(nn.Module):
    def forward(self, a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
        return a @ b


def get_inputs() -> list[torch.Tensor]:
    return [torch.randn(ROWS, INNER).half(), torch.randn(INNER, COLUMNS).half()]
