"""Divergence of every row's softmax from a given distribution."""

import torch
from torch import nn
from torch.nn import functional

SIZES = {
    "small": {"rows": 64, "columns": 250},
    "medium": {"rows": 1024, "columns": 1000},
    "large": {"rows": 16384, "columns": 4000},
}
SIZE = SIZES["medium"]


class Model(nn.Module):
    """Targets are probabilities; summed over classes, one result a row."""

    def forward(self, scores: torch.Tensor, targets: torch.Tensor) -> torch.Tensor:
        found = torch.log_softmax(scores, dim=-1)
        return functional.kl_div(found, targets, reduction="none").sum(dim=-1)


def get_inputs() -> list[torch.Tensor]:
    rows, columns = SIZE["rows"], SIZE["columns"]
    return [torch.randn(rows, columns), torch.softmax(torch.randn(rows, columns), dim=-1)]


def get_init_inputs() -> list[object]:
    return []
