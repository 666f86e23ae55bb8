"""A product with weights kept as 8-bit integers, each row with a scale of its own."""

import torch
from torch import nn
from torch.nn import functional

SIZES = {
    "small": {"rows": 16, "width": 64, "outputs": 32},
    "medium": {"rows": 128, "width": 512, "outputs": 512},
    "large": {"rows": 4096, "width": 4096, "outputs": 4096},
}
SIZE = SIZES["medium"]


class Model(nn.Module):
    """x times the weights as numbers, times the scales."""

    def __init__(self, width: int, outputs: int) -> None:
        super().__init__()
        self.register_buffer("weight", torch.randint(-127, 128, (outputs, width), dtype=torch.int8))
        self.register_buffer("scale", torch.rand(outputs) / width)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return functional.linear(x, self.weight.to(x.dtype)) * self.scale


def get_inputs() -> list[torch.Tensor]:
    return [torch.randn(SIZE["rows"], SIZE["width"])]


def get_init_inputs() -> list[object]:
    return [SIZE["width"], SIZE["outputs"]]
