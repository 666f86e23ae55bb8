"""Element by element."""

import torch
import triton
import triton.language as tl


@triton.jit
def clamped_blend(a, b, t, out, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = at < n
    left = tl.load(a + at, mask=inside, other=0.0)
    right = tl.load(b + at, mask=inside, other=0.0)
    share = tl.minimum(tl.maximum(tl.load(t + at, mask=inside, other=0.0), 0.0), 1.0)
    tl.store(out + at, left + share * (right - left), mask=inside)


class ModelNew(torch.nn.Module):
    def forward(self, a, b, t):
        out = torch.empty_like(a)
        clamped_blend[(triton.cdiv(a.numel(), 1024),)](a, b, t, out, a.numel(), BLOCK=1024, num_warps=4)
        return out
