"""A linear recurrence along time, as state-space models have: each state is the last one, decayed, and the input."""

import torch
from torch import nn

SIZES = {
    "small": {"batch": 2, "tokens": 8, "width": 32},
    "medium": {"batch": 4, "tokens": 64, "width": 128},
    "large": {"batch": 16, "tokens": 512, "width": 1024},
}
SIZE = SIZES["medium"]


class Model(nn.Module):
    """h[t] = decay * h[t - 1] + x[t], for every channel by itself."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.decay = nn.Parameter(torch.randn(width))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        decay, state, states = torch.sigmoid(self.decay), torch.zeros_like(x[:, 0]), []
        for step in range(x.shape[1]):
            state = decay * state + x[:, step]
            states.append(state)
        return torch.stack(states, dim=1)


def get_inputs() -> list[torch.Tensor]:
    return [torch.randn(SIZE["batch"], SIZE["tokens"], SIZE["width"])]


def get_init_inputs() -> list[object]:
    return [SIZE["width"]]
