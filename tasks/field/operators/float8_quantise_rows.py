"""To floats of eight bits, with a scale for each row."""

import torch
from torch import nn

SIZES = {
    "full": {"rows": 16384, "columns": 16384},
    "small": {"rows": 6, "columns": 40},
}
SIZE = SIZES["full"]


class Model(nn.Module):
    def forward(self, x):
        scale = x.float().abs().amax(-1, keepdim=True).clamp(min=1e-12) / 448
        return (x.float() / scale).to(torch.float8_e4m3fn), scale


def get_inputs():
    return [torch.randn(SIZE["rows"], SIZE["columns"], dtype=torch.bfloat16)]


def get_init_inputs():
    return []
