"""A bitonic network in registers; what is beyond the row is infinite and comes last."""

import torch
import triton
import triton.language as tl


@triton.jit
def row_sort(x, out, columns, BLOCK: tl.constexpr):
    row = tl.program_id(0).to(tl.int64) * columns
    at = tl.arange(0, BLOCK)
    value = tl.load(x + row + at, mask=at < columns, other=float("inf"))
    tl.store(out + row + at, tl.sort(value), mask=at < columns)


class ModelNew(torch.nn.Module):
    def forward(self, x):
        rows, columns = x.shape
        out = torch.empty_like(x)
        block = max(2, triton.next_power_of_2(columns))
        row_sort[(rows,)](x, out, columns, BLOCK=block, num_warps=min(4, max(1, block // 256)))
        return out
