"""A channel's tile of time a program: four shifted reads, of which three come from the cache."""

import torch
import triton
import triton.language as tl


@triton.jit
def causal_filter(x, taps, out, channels, steps, BLOCK: tl.constexpr):
    plane = tl.program_id(0).to(tl.int64)
    at = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    total = tl.zeros((BLOCK,), tl.float32)
    for tap in tl.static_range(4):
        before = at + tap - 3
        value = tl.load(x + plane * steps + before, mask=(before >= 0) & (before < steps), other=0.0)
        total += value * tl.load(taps + plane % channels * 4 + tap)
    tl.store(out + plane * steps + at, total, mask=at < steps)


class ModelNew(torch.nn.Module):
    def forward(self, x, taps):
        batch, channels, steps = x.shape
        out = torch.empty_like(x)
        block = min(1024, triton.next_power_of_2(steps))
        causal_filter[(batch * channels, triton.cdiv(steps, block))](x, taps, out, channels, steps, BLOCK=block)
        return out
