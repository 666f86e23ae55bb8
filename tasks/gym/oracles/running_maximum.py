"""An associative scan of a whole row."""

import torch
import triton
import triton.language as tl


@triton.jit
def larger(a, b):
    return tl.maximum(a, b)


@triton.jit
def running_maximum(x, out, columns, BLOCK: tl.constexpr):
    row = tl.program_id(0).to(tl.int64) * columns
    at = tl.arange(0, BLOCK)
    value = tl.load(x + row + at, mask=at < columns, other=-float("inf"))
    tl.store(out + row + at, tl.associative_scan(value, 0, larger), mask=at < columns)


class ModelNew(torch.nn.Module):
    def forward(self, x):
        rows, columns = x.shape
        out = torch.empty_like(x)
        block = triton.next_power_of_2(columns)
        running_maximum[(rows,)](x, out, columns, BLOCK=block, num_warps=min(8, max(1, block // 512)))
        return out
