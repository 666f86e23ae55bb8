"""A product of two matrices in half precision."""

import torch
from torch import nn

ROWS = 128
COLUMNS = 192
INNER = 64


class Model(nn.Module):
    def forward(self, a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
        return a @ b


def get_inputs() -> list[torch.Tensor]:
    return [torch.randn(ROWS, INNER).half(), torch.randn(INNER, COLUMNS).half()]
