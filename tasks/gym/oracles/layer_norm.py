"""A row a program, held in registers: its variance is that of differences from the mean, which do not cancel."""

import torch
import triton
import triton.language as tl


@triton.jit
def layer_norm(x, scale, shift, out, columns, BLOCK: tl.constexpr):
    row = tl.program_id(0).to(tl.int64) * columns
    at = tl.arange(0, BLOCK)
    inside = at < columns
    value = tl.load(x + row + at, mask=inside, other=0.0)
    away = tl.where(inside, value - tl.sum(value) / columns, 0.0)
    inverse = tl.rsqrt(tl.sum(away * away) / columns + 1e-5)
    a = tl.load(scale + at, mask=inside, other=0.0)
    tl.store(out + row + at, away * inverse * a + tl.load(shift + at, mask=inside, other=0.0), mask=inside)


class ModelNew(torch.nn.Module):
    def forward(self, x, scale, shift):
        rows, columns = x.shape
        out = torch.empty_like(x)
        block = triton.next_power_of_2(columns)
        layer_norm[(rows,)](x, scale, shift, out, columns, BLOCK=block, num_warps=min(16, max(1, block // 512)))
        return out
