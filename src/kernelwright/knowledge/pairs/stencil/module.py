"""Each element with its neighbours in the row, zeros beyond the ends."""

import torch
from torch import nn

ROWS = 128
COLUMNS = 1024


class Model(nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        wide = nn.functional.pad(x, (1, 1))
        return 0.25 * wide[:, :-2] + 0.5 * wide[:, 1:-1] + 0.25 * wide[:, 2:]


def get_inputs() -> list[torch.Tensor]:
    return [torch.randn(ROWS, COLUMNS)]
