"""Place i reads 2 i and the last less 2 i: two streams that run towards each other."""

import torch
import triton
import triton.language as tl


@triton.jit
def crossing_fold(x, out, half, BLOCK: tl.constexpr):
    row = tl.program_id(0).to(tl.int64) * half
    at = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    inside = at < half
    left = tl.load(x + 2 * row + 2 * at, mask=inside, other=0.0)
    right = tl.load(x + 2 * row + 2 * half - 1 - 2 * at, mask=inside, other=0.0)
    tl.store(out + row + at, left - right, mask=inside)


class ModelNew(torch.nn.Module):
    def forward(self, x):
        rows, half = x.shape[0], x.shape[1] // 2
        out = torch.empty((rows, half), device=x.device, dtype=x.dtype)
        block = min(1024, triton.next_power_of_2(half))
        crossing_fold[(rows, triton.cdiv(half, block))](x, out, half, BLOCK=block)
        return out
