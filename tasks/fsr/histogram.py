"""How often each of 256 values comes."""

import torch
from torch import nn

SIZES = {
    "small": {"n": 16384},
    "medium": {"n": 1048576},
    "large": {"n": 67108864},
}
SIZE = SIZES["medium"]
BINS = 256
DOMAINS = {0: ("index", 256)}


class Model(nn.Module):
    """A count for each value."""

    def forward(self, values: torch.Tensor) -> torch.Tensor:
        counts = torch.zeros(BINS, dtype=torch.int32, device=values.device)
        return counts.scatter_add_(0, values.long(), torch.ones_like(values))


def get_inputs() -> list[torch.Tensor]:
    return [torch.randint(BINS, (SIZE["n"],), dtype=torch.int32)]


def get_init_inputs() -> list[object]:
    return []
