"""Two passes over registers: squares of differences do not cancel."""

import torch
import triton
import triton.language as tl


@triton.jit
def row_variance(x, out, columns, BLOCK: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    at = tl.arange(0, BLOCK)
    inside = at < columns
    value = tl.load(x + row * columns + at, mask=inside, other=0.0)
    away = tl.where(inside, value - tl.sum(value) / columns, 0.0)
    tl.store(out + row, tl.sum(away * away) / (columns - 1))


class ModelNew(torch.nn.Module):
    def forward(self, x):
        rows, columns = x.shape
        out = torch.empty((rows,), device=x.device, dtype=x.dtype)
        block = triton.next_power_of_2(columns)
        row_variance[(rows,)](x, out, columns, BLOCK=block, num_warps=min(16, max(1, block // 512)))
        return out
