"""Four rows a program where rows are short enough, so that each warp has a row's worth of loads in flight."""

import torch
import triton
import triton.language as tl


@triton.jit
def row_sum(x, out, rows, columns, ROWS: tl.constexpr, BLOCK: tl.constexpr):
    i = tl.program_id(0) * ROWS + tl.arange(0, ROWS)
    at = tl.arange(0, BLOCK)
    total = tl.zeros((ROWS, BLOCK), tl.float32)
    for start in range(0, columns, BLOCK):
        inside = (i < rows)[:, None] & (start + at < columns)[None, :]
        total += tl.load(x + i.to(tl.int64)[:, None] * columns + start + at[None, :], mask=inside, other=0.0)
    tl.store(out + i, tl.sum(total, 1), mask=i < rows)


class ModelNew(torch.nn.Module):
    def forward(self, x):
        rows, columns = x.shape
        out = torch.empty((rows,), device=x.device, dtype=x.dtype)
        row_sum[(triton.cdiv(rows, 4),)](x, out, rows, columns, ROWS=4, BLOCK=512, num_warps=4)
        return out
