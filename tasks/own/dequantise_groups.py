"""Eight-bit weights with a scale and a zero point for each group, made half precision."""

import torch
from torch import nn

SIZES = {
    "small": {"rows": 64, "columns": 256, "group": 32},
    "medium": {"rows": 1024, "columns": 1024, "group": 64},
    "large": {"rows": 16384, "columns": 8192, "group": 128},
}
SIZE = SIZES["medium"]
DOMAINS = {0: ("index", 256), 2: ("index", 256)}


class Model(nn.Module):
    """Each group of neighbours less its zero point, times its scale."""

    def forward(self, weights: torch.Tensor, scales: torch.Tensor, zeros: torch.Tensor) -> torch.Tensor:
        rows, groups = scales.shape
        grouped = weights.view(rows, groups, -1).float() - zeros[:, :, None].float()
        return (grouped * scales[:, :, None]).view(rows, -1).half()


def get_inputs() -> list[torch.Tensor]:
    rows, columns, groups = SIZE["rows"], SIZE["columns"], SIZE["columns"] // SIZE["group"]
    weights = torch.randint(256, (rows, columns), dtype=torch.uint8)
    zeros = torch.randint(256, (rows, groups), dtype=torch.uint8)
    return [weights, 0.01 * torch.rand(rows, groups) + 0.001, zeros]


def get_init_inputs() -> list[object]:
    return []
