"""Focal loss of binary labels: what is classified well already counts less."""

import torch
from torch import nn
from torch.nn import functional

SIZES = {
    "small": {"rows": 64, "columns": 64},
    "medium": {"rows": 2048, "columns": 2048},
    "large": {"rows": 16384, "columns": 4096},
}
SIZE = SIZES["medium"]


class Model(nn.Module):
    """Mean of alpha (1 - p)^2 times the cross-entropy, where p is the probability of the right answer."""

    def __init__(self, alpha: float) -> None:
        super().__init__()
        self.alpha = alpha

    def forward(self, logits: torch.Tensor, labels: torch.Tensor) -> torch.Tensor:
        entropy = functional.binary_cross_entropy_with_logits(logits, labels, reduction="none")
        right = torch.exp(-entropy)
        return (self.alpha * (1.0 - right) ** 2 * entropy).mean()


def get_inputs() -> list[torch.Tensor]:
    shape = (SIZE["rows"], SIZE["columns"])
    return [torch.randn(shape), torch.randint(0, 2, shape).float()]


def get_init_inputs() -> list[object]:
    return [0.25]
