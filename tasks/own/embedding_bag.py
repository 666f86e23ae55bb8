"""Rows of a table picked by index, and averaged in bags."""

import torch
from torch import nn
from torch.nn import functional

SIZES = {
    "small": {"rows": 500, "features": 32, "bags": 64, "picks": 8},
    "medium": {"rows": 10000, "features": 64, "bags": 1024, "picks": 16},
    "large": {"rows": 1000000, "features": 128, "bags": 65536, "picks": 32},
}
SIZE = SIZES["medium"]


class Model(nn.Module):
    """Each bag's result is the mean of the rows that it names."""

    def forward(self, table: torch.Tensor, picks: torch.Tensor) -> torch.Tensor:
        return functional.embedding(picks, table).mean(dim=1)


def get_inputs() -> list[torch.Tensor]:
    table = torch.randn(SIZE["rows"], SIZE["features"])
    return [table, torch.randint(SIZE["rows"], (SIZE["bags"], SIZE["picks"]))]


def get_init_inputs() -> list[object]:
    return []
