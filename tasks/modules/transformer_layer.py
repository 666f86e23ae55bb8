"""A whole layer of a transformer, as PyTorch brings it, in eval mode."""

import torch
from torch import nn

SIZES = {
    "small": {"batch": 1, "tokens": 16, "width": 32, "heads": 2},
    "medium": {"batch": 2, "tokens": 128, "width": 256, "heads": 8},
    "large": {"batch": 16, "tokens": 1024, "width": 1024, "heads": 16},
}
SIZE = SIZES["medium"]


class Model(nn.Module):
    """Attention and feed-forward part, each normalised first and added to what came in."""

    def __init__(self, width: int, heads: int) -> None:
        super().__init__()
        self.layer = nn.TransformerEncoderLayer(width, heads, 4 * width, batch_first=True, norm_first=True)
        self.eval()

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.layer(x)


def get_inputs() -> list[torch.Tensor]:
    return [torch.randn(SIZE["batch"], SIZE["tokens"], SIZE["width"])]


def get_init_inputs() -> list[object]:
    return [SIZE["width"], SIZE["heads"]]
