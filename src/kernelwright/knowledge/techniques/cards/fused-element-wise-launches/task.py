"""A gated activation with a residual."""

import torch
from torch import nn

ROWS = 32
COLUMNS = 128


class Model(nn.Module):
    def forward(self, x: torch.Tensor, gate: torch.Tensor) -> torch.Tensor:
        return x + x * torch.sigmoid(gate)


def get_inputs() -> list[torch.Tensor]:
    return [torch.randn(ROWS, COLUMNS), torch.randn(ROWS, COLUMNS)]
