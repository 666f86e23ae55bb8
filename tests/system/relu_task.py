"""A task that a worker admits quickly, as text."""

RELU = """\
import torch
from torch import nn


class Model(nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return torch.relu(x)


def get_inputs() -> list[torch.Tensor]:
    return [torch.randn(64, 32)]


def get_init_inputs() -> list[object]:
    return []
"""
