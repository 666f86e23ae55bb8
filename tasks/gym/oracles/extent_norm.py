"""A row a program; lanes beyond it are infinite of either sign."""

import torch
import triton
import triton.language as tl


@triton.jit
def extent_norm(x, out, columns, BLOCK: tl.constexpr):
    row = tl.program_id(0).to(tl.int64) * columns
    at = tl.arange(0, BLOCK)
    inside = at < columns
    value = tl.load(x + row + at, mask=inside, other=0.0)
    high = tl.max(tl.where(inside, value, -float("inf")))
    low = tl.min(tl.where(inside, value, float("inf")))
    tl.store(out + row + at, (value - 0.5 * (high + low)) / (high - low + 1e-3), mask=inside)


class ModelNew(torch.nn.Module):
    def forward(self, x):
        rows, columns = x.shape
        out = torch.empty_like(x)
        block = triton.next_power_of_2(columns)
        extent_norm[(rows,)](x, out, columns, BLOCK=block, num_warps=min(16, max(1, block // 512)))
        return out
