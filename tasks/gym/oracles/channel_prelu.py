"""Four rows a program share the slopes that it reads."""

import torch
import triton
import triton.language as tl


@triton.jit
def channel_prelu(x, slope, out, rows, channels, ROWS: tl.constexpr, BLOCK: tl.constexpr):
    at = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    inside = at < channels
    a = tl.load(slope + at, mask=inside, other=0.0)
    for step in tl.static_range(ROWS):
        row = tl.program_id(0) * ROWS + step
        keep = inside & (row < rows)
        base = row.to(tl.int64) * channels
        value = tl.load(x + base + at, mask=keep, other=0.0)
        tl.store(out + base + at, tl.where(value > 0, value, a * value), mask=keep)


class ModelNew(torch.nn.Module):
    def forward(self, x, slope):
        rows, channels = x.shape
        out = torch.empty_like(x)
        block = min(1024, triton.next_power_of_2(channels))
        grid = (triton.cdiv(rows, 4), triton.cdiv(channels, block))
        channel_prelu[grid](x, slope, out, rows, channels, ROWS=4, BLOCK=block)
        return out
