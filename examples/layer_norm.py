"""Layer normalisation over the last axis with a learned scale and shift."""

import torch
from torch import nn


class Model(nn.Module):
    """(x - mean) / sqrt(variance + eps) * weight + bias."""

    def __init__(self, features: int) -> None:
        super().__init__()
        self.norm = nn.LayerNorm(features)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.norm(x)


TOKENS, FEATURES = 4096, 4096


def get_inputs() -> list[torch.Tensor]:
    return [torch.randn(TOKENS, FEATURES)]


def get_init_inputs() -> list[object]:
    return [FEATURES]
