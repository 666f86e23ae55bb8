"""Mean cross-entropy of rows of scores and their classes."""

import torch
from torch import nn
from torch.nn import functional

SIZES = {
    "small": {"rows": 2048, "classes": 10},
    "medium": {"rows": 65536, "classes": 10},
    "large": {"rows": 4194304, "classes": 10},
}
SIZE = SIZES["medium"]


class Model(nn.Module):
    """Minus the logarithm of the softmax at each row's class, averaged."""

    def forward(self, scores: torch.Tensor, classes: torch.Tensor) -> torch.Tensor:
        return functional.cross_entropy(scores, classes)


def get_inputs() -> list[torch.Tensor]:
    rows, classes = SIZE["rows"], SIZE["classes"]
    return [torch.randn(rows, classes), torch.randint(classes, (rows,))]


def get_init_inputs() -> list[object]:
    return []
