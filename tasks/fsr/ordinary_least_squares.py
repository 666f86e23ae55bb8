"""Coefficients of a linear regression, from the normal equations."""

import torch
from torch import nn

SIZES = {
    "small": {"rows": 2048, "features": 10},
    "medium": {"rows": 65536, "features": 10},
    "large": {"rows": 4194304, "features": 10},
}
SIZE = SIZES["medium"]


class Model(nn.Module):
    """The coefficients whose residuals have the smallest sum of squares."""

    def forward(self, x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        across = x.t()
        return torch.linalg.solve(across @ x, across @ y)


def get_inputs() -> list[torch.Tensor]:
    x = torch.randn(SIZE["rows"], SIZE["features"])
    truth = torch.linspace(-2.0, 3.0, SIZE["features"])
    return [x, x @ truth + 0.1 * torch.randn(SIZE["rows"])]


def get_init_inputs() -> list[object]:
    return []
