"""Bound by memory: 4096 elements a program hide its start."""

import torch
import triton
import triton.language as tl


@triton.jit
def hard_swish(x, out, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = at < n
    value = tl.load(x + at, mask=inside, other=0.0)
    gate = tl.minimum(tl.maximum(value + 3.0, 0.0), 6.0)
    tl.store(out + at, value * gate / 6.0, mask=inside)


class ModelNew(torch.nn.Module):
    def forward(self, x):
        out = torch.empty_like(x)
        hard_swish[(triton.cdiv(x.numel(), 4096),)](x, out, x.numel(), BLOCK=4096, num_warps=8)
        return out
