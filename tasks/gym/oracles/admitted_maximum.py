"""A scan of maxima; where nothing was admitted it is still minus infinity, which no element is."""

import torch
import triton
import triton.language as tl


@triton.jit
def larger(a, b):
    return tl.maximum(a, b)


@triton.jit
def admitted_maximum(x, mask, out, columns, BLOCK: tl.constexpr):
    row = tl.program_id(0).to(tl.int64) * columns
    at = tl.arange(0, BLOCK)
    inside = at < columns
    admitted = tl.load(mask + row + at, mask=inside, other=0) != 0
    value = tl.where(admitted, tl.load(x + row + at, mask=inside, other=0.0), -float("inf"))
    most = tl.associative_scan(value, 0, larger)
    tl.store(out + row + at, tl.where(most == -float("inf"), 0.0, most), mask=inside)


class ModelNew(torch.nn.Module):
    def forward(self, x, mask):
        rows, columns = x.shape
        out = torch.empty_like(x)
        block = triton.next_power_of_2(columns)
        admitted_maximum[(rows,)](x, mask, out, columns, BLOCK=block, num_warps=min(8, max(1, block // 512)))
        return out
