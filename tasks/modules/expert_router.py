"""The router of a mixture of experts: softmax over experts, and the weights of the best two made to sum to one."""

import torch
from torch import nn
from torch.nn import functional

SIZES = {
    "small": {"tokens": 64, "width": 32, "experts": 8},
    "medium": {"tokens": 4096, "width": 256, "experts": 16},
    "large": {"tokens": 65536, "width": 2048, "experts": 64},
}
SIZE = SIZES["medium"]


class Model(nn.Module):
    """Weights of the two most likely experts of each token."""

    def __init__(self, width: int, experts: int) -> None:
        super().__init__()
        self.score = nn.Linear(width, experts, bias=False)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        best = functional.softmax(self.score(x), dim=-1).topk(2, dim=-1).values
        return best / best.sum(dim=-1, keepdim=True)


def get_inputs() -> list[torch.Tensor]:
    return [torch.randn(SIZE["tokens"], SIZE["width"])]


def get_init_inputs() -> list[object]:
    return [SIZE["width"], SIZE["experts"]]
