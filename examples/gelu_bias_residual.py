"""The tail of a transformer's first feed-forward layer: add a bias, exact GELU, add the residual."""

import torch
from torch import nn
from torch.nn import functional


class Model(nn.Module):
    """gelu(x + bias) + residual."""

    def __init__(self, features: int) -> None:
        super().__init__()
        self.bias = nn.Parameter(torch.randn(features))

    def forward(self, x: torch.Tensor, residual: torch.Tensor) -> torch.Tensor:
        return functional.gelu(x + self.bias) + residual


TOKENS, FEATURES = 2048, 4096


def get_inputs() -> list[torch.Tensor]:
    return [torch.randn(TOKENS, FEATURES), torch.randn(TOKENS, FEATURES)]


def get_init_inputs() -> list[object]:
    return [FEATURES]
