"""Mean squared error of two large tensors: one pass over both, one number out."""

import torch
from torch import nn


class Model(nn.Module):
    """mean((predictions - targets)^2)."""

    def forward(self, predictions: torch.Tensor, targets: torch.Tensor) -> torch.Tensor:
        return torch.mean((predictions - targets) ** 2)


ROWS, COLUMNS = 4096, 4096


def get_inputs() -> list[torch.Tensor]:
    return [torch.randn(ROWS, COLUMNS), torch.randn(ROWS, COLUMNS)]


def get_init_inputs() -> list[object]:
    return []
