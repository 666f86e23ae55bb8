"""A row a program, in registers."""

import torch
import triton
import triton.language as tl


@triton.jit
def spread_norm(x, out, columns, BLOCK: tl.constexpr):
    row = tl.program_id(0).to(tl.int64) * columns
    at = tl.arange(0, BLOCK)
    inside = at < columns
    value = tl.load(x + row + at, mask=inside, other=0.0)
    away = tl.where(inside, value - tl.sum(value) / columns, 0.0)
    spread = tl.sum(tl.abs(away)) / columns + 1e-5
    tl.store(out + row + at, away / spread, mask=inside)


class ModelNew(torch.nn.Module):
    def forward(self, x):
        rows, columns = x.shape
        out = torch.empty_like(x)
        block = triton.next_power_of_2(columns)
        spread_norm[(rows,)](x, out, columns, BLOCK=block, num_warps=min(16, max(1, block // 512)))
        return out
