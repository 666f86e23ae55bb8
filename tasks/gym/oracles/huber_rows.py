"""A row a program."""

import torch
import triton
import triton.language as tl


@triton.jit
def huber_rows(x, y, out, columns, BLOCK: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    at = tl.arange(0, BLOCK)
    inside = at < columns
    left = tl.load(x + row * columns + at, mask=inside, other=0.0)
    away = tl.abs(left - tl.load(y + row * columns + at, mask=inside, other=0.0))
    tl.store(out + row, tl.sum(tl.where(away < 0.5, 0.5 * away * away, 0.5 * (away - 0.25))))


class ModelNew(torch.nn.Module):
    def forward(self, x, y):
        rows, columns = x.shape
        out = torch.empty((rows,), device=x.device, dtype=x.dtype)
        block = triton.next_power_of_2(columns)
        huber_rows[(rows,)](x, y, out, columns, BLOCK=block, num_warps=min(16, max(1, block // 512)))
        return out
