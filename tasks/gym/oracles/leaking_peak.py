"""64 channels a program walk through time with their peaks in registers."""

import torch
import triton
import triton.language as tl


@triton.jit
def leaking_peak(x, out, steps, channels, BLOCK: tl.constexpr):
    j = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = j < channels
    peak = tl.zeros((BLOCK,), tl.float32)
    for step in range(steps):
        at = step * channels + j
        peak = tl.maximum(0.9 * peak, tl.abs(tl.load(x + at, mask=inside, other=0.0)))
        tl.store(out + at, peak, mask=inside)


class ModelNew(torch.nn.Module):
    def forward(self, x):
        steps, channels = x.shape
        out = torch.empty_like(x)
        leaking_peak[(triton.cdiv(channels, 64),)](x, out, steps, channels, BLOCK=64, num_warps=2)
        return out
