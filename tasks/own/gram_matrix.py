"""Products of all pairs of columns of a tall matrix."""

import torch
from torch import nn

SIZES = {
    "small": {"rows": 2048, "columns": 16},
    "medium": {"rows": 65536, "columns": 32},
    "large": {"rows": 4194304, "columns": 32},
}
SIZE = SIZES["medium"]


class Model(nn.Module):
    """The transpose of a tall, thin matrix times itself."""

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x.t() @ x


def get_inputs() -> list[torch.Tensor]:
    return [torch.randn(SIZE["rows"], SIZE["columns"])]


def get_init_inputs() -> list[object]:
    return []
