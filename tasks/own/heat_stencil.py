"""One step of heat flow on a grid with a fixed edge."""

import torch
from torch import nn
from torch.nn import functional

SIZES = {
    "small": {"rows": 96, "columns": 96},
    "medium": {"rows": 1024, "columns": 1024},
    "large": {"rows": 8192, "columns": 8192},
}
SIZE = SIZES["medium"]


class Model(nn.Module):
    """Inner points move towards the mean of their four neighbours; the edge stays."""

    def forward(self, heat: torch.Tensor) -> torch.Tensor:
        inner = heat[1:-1, 1:-1]
        around = heat[:-2, 1:-1] + heat[2:, 1:-1] + heat[1:-1, :-2] + heat[1:-1, 2:]
        return heat + functional.pad(0.2 * (around - 4.0 * inner), (1, 1, 1, 1))


def get_inputs() -> list[torch.Tensor]:
    return [torch.randn(SIZE["rows"], SIZE["columns"])]


def get_init_inputs() -> list[object]:
    return []
