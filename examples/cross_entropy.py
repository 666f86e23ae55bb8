"""Cross entropy of logits against class labels, with a temperature."""

import torch
from torch import nn
from torch.nn import functional


class Model(nn.Module):
    """mean over rows of logsumexp(logits / t) - logits[label] / t."""

    def __init__(self, temperature: float) -> None:
        super().__init__()
        self.temperature = temperature

    def forward(self, logits: torch.Tensor, labels: torch.Tensor) -> torch.Tensor:
        return functional.cross_entropy(logits / self.temperature, labels)


ROWS, CLASSES = 2048, 8192


def get_inputs() -> list[torch.Tensor]:
    return [2.0 * torch.randn(ROWS, CLASSES), torch.randint(0, CLASSES, (ROWS,))]


def get_init_inputs() -> list[object]:
    return [0.8]
