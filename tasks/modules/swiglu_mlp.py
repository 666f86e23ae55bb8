"""The feed-forward part of a transformer: two projections, gated by SiLU, and one back."""

import torch
from torch import nn
from torch.nn import functional

SIZES = {
    "small": {"rows": 16, "width": 64, "hidden": 128},
    "medium": {"rows": 256, "width": 512, "hidden": 1024},
    "large": {"rows": 8192, "width": 2048, "hidden": 5632},
}
SIZE = SIZES["medium"]


class Model(nn.Module):
    """down(silu(gate(x)) * up(x))."""

    def __init__(self, width: int, hidden: int) -> None:
        super().__init__()
        self.gate = nn.Linear(width, hidden, bias=False)
        self.up = nn.Linear(width, hidden, bias=False)
        self.down = nn.Linear(hidden, width, bias=False)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.down(functional.silu(self.gate(x)) * self.up(x))


def get_inputs() -> list[torch.Tensor]:
    return [torch.randn(SIZE["rows"], SIZE["width"])]


def get_init_inputs() -> list[object]:
    return [SIZE["width"], SIZE["hidden"]]
