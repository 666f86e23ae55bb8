"""Rows as eight-bit integers with a scale each."""

import torch
from torch import nn

SIZES = {
    "small": {"rows": 64, "columns": 256},
    "medium": {"rows": 1024, "columns": 1024},
    "large": {"rows": 16384, "columns": 4096},
}
SIZE = SIZES["medium"]


class Model(nn.Module):
    """Each row is divided by its largest magnitude over 127 and rounded: integers and scales."""

    def forward(self, x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        scales = torch.clamp_min(x.abs().amax(dim=-1, keepdim=True) / 127.0, 1e-12)
        whole = torch.clamp(torch.round(x / scales), -127.0, 127.0)
        return whole.to(torch.int8), scales


def get_inputs() -> list[torch.Tensor]:
    return [torch.randn(SIZE["rows"], SIZE["columns"])]


def get_init_inputs() -> list[object]:
    return []
