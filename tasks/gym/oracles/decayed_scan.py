"""Channels are independent, so that a program walks through time with a state in registers; 64 fill a line twice."""

import torch
import triton
import triton.language as tl


@triton.jit
def decayed_scan(x, a, out, steps, channels, BLOCK: tl.constexpr):
    j = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = j < channels
    state = tl.zeros((BLOCK,), tl.float32)
    for step in range(steps):
        at = step * channels + j
        decay = tl.load(a + at, mask=inside, other=0.0)
        state = decay * state + tl.load(x + at, mask=inside, other=0.0)
        tl.store(out + at, state, mask=inside)


class ModelNew(torch.nn.Module):
    def forward(self, x, a):
        steps, channels = x.shape
        out = torch.empty_like(x)
        decayed_scan[(triton.cdiv(channels, 64),)](x, a, out, steps, channels, BLOCK=64, num_warps=2)
        return out
