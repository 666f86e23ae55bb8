"""Gated unit: one half through SiLU, times the other."""

import torch
from torch import nn
from torch.nn import functional

SIZES = {
    "small": {"rows": 64, "columns": 256},
    "medium": {"rows": 1024, "columns": 1024},
    "large": {"rows": 16384, "columns": 4096},
}
SIZE = SIZES["medium"]


class Model(nn.Module):
    """SiLU of the gate times the value."""

    def forward(self, gate: torch.Tensor, value: torch.Tensor) -> torch.Tensor:
        return functional.silu(gate) * value


def get_inputs() -> list[torch.Tensor]:
    return [torch.randn(SIZE["rows"], SIZE["columns"]) for _ in range(2)]


def get_init_inputs() -> list[object]:
    return []
