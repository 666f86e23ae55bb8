"""The start is copied first; then each row is added by atomics, which meet rarely where slots are many."""

import torch
import triton
import triton.language as tl


@triton.jit
def copied(start, out, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out + at, tl.load(start + at, mask=at < n, other=0.0), mask=at < n)


@triton.jit
def scatter_sum(x, slots, out, width, BLOCK: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    at = tl.arange(0, BLOCK)
    slot = tl.load(slots + row)
    tl.atomic_add(out + slot * width + at, tl.load(x + row * width + at, mask=at < width, other=0.0), mask=at < width)


class ModelNew(torch.nn.Module):
    def forward(self, x, slots, start):
        out = torch.empty_like(start)
        copied[(triton.cdiv(start.numel(), 1024),)](start, out, start.numel(), BLOCK=1024)
        block = triton.next_power_of_2(x.shape[1])
        warps = min(4, max(1, block // 64))
        scatter_sum[(x.shape[0],)](x, slots, out, x.shape[1], BLOCK=block, num_warps=warps)
        return out
