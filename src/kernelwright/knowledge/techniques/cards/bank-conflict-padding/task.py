"""A scaled transposition."""

import torch
from torch import nn

ROWS = 64
COLUMNS = 128


class Model(nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return (x.t() * 2.0).contiguous()


def get_inputs() -> list[torch.Tensor]:
    return [torch.randn(ROWS, COLUMNS)]
