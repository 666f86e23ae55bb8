"""All pairs of a row in registers: no sort for so few."""

import torch
import triton
import triton.language as tl


@triton.jit
def row_ranks(x, out, columns, BLOCK: tl.constexpr):
    row = tl.program_id(0).to(tl.int64) * columns
    at = tl.arange(0, BLOCK)
    mine = tl.load(x + row + at, mask=at < columns, other=0.0)
    other = tl.load(x + row + at, mask=at < columns, other=float("inf"))
    smaller = ((other[None, :] < mine[:, None]) & (at < columns)[None, :]).to(tl.int32)
    tl.store(out + row + at, tl.sum(smaller, 1).to(tl.int64), mask=at < columns)


class ModelNew(torch.nn.Module):
    def forward(self, x):
        rows, columns = x.shape
        out = torch.empty((rows, columns), device=x.device, dtype=torch.int64)
        row_ranks[(rows,)](x, out, columns, BLOCK=triton.next_power_of_2(columns), num_warps=2)
        return out
