"""Two launches: at most 1024 partial sums, whose order no atomic decides, and one program that adds them."""

import torch
import triton
import triton.language as tl


@triton.jit
def partial_sums(x, parts, n, BLOCK: tl.constexpr):
    total = tl.zeros((BLOCK,), tl.float32)
    for start in range(tl.program_id(0) * BLOCK, n, tl.num_programs(0) * BLOCK):
        at = start + tl.arange(0, BLOCK)
        value = tl.load(x + at, mask=at < n, other=0.0)
        total += value * value
    tl.store(parts + tl.program_id(0), tl.sum(total))


@triton.jit
def total_of(parts, out, count, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    tl.store(out, tl.sum(tl.load(parts + at, mask=at < count, other=0.0)))


class ModelNew(torch.nn.Module):
    def forward(self, x):
        count = min(1024, triton.cdiv(x.numel(), 2048))
        parts = torch.empty((count,), device=x.device, dtype=torch.float32)
        out = torch.empty((), device=x.device, dtype=torch.float32)
        partial_sums[(count,)](x, parts, x.numel(), BLOCK=2048, num_warps=8)
        total_of[(1,)](parts, out, count, BLOCK=1024, num_warps=4)
        return out
