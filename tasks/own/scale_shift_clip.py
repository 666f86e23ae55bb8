"""A chain of element-wise steps on two tensors."""

import torch
from torch import nn

SIZES = {
    "small": {"rows": 64, "columns": 256},
    "medium": {"rows": 1024, "columns": 1024},
    "large": {"rows": 16384, "columns": 4096},
}
SIZE = SIZES["medium"]


class Model(nn.Module):
    """Scaled, shifted, limited to an interval, and multiplied with the other."""

    def forward(self, x: torch.Tensor, gain: torch.Tensor) -> torch.Tensor:
        return torch.clamp(1.5 * x - 0.25, -1.0, 1.0) * gain


def get_inputs() -> list[torch.Tensor]:
    return [torch.randn(SIZE["rows"], SIZE["columns"]) for _ in range(2)]


def get_init_inputs() -> list[object]:
    return []
