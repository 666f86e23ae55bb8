"""A product of two matrices in half precision, a bias, and ReLU."""

import torch
from torch import nn

ROWS = 64
COLUMNS = 128
INNER = 64


class Model(nn.Module):
    def forward(self, a: torch.Tensor, b: torch.Tensor, bias: torch.Tensor) -> torch.Tensor:
        return torch.relu(a @ b + bias)


def get_inputs() -> list[torch.Tensor]:
    return [torch.randn(ROWS, INNER).half(), torch.randn(INNER, COLUMNS).half(), torch.randn(COLUMNS).half()]
