"""Tiles of 1024 in order, each with what came before it: no row is too long."""

import torch
import triton
import triton.language as tl


@triton.jit
def row_scan(x, out, columns, BLOCK: tl.constexpr):
    row = tl.program_id(0).to(tl.int64) * columns
    before = tl.zeros((), tl.float32)
    for start in range(0, columns, BLOCK):
        at = start + tl.arange(0, BLOCK)
        value = tl.load(x + row + at, mask=at < columns, other=0.0)
        tl.store(out + row + at, before + tl.cumsum(value), mask=at < columns)
        before += tl.sum(value)


class ModelNew(torch.nn.Module):
    def forward(self, x):
        rows, columns = x.shape
        out = torch.empty_like(x)
        row_scan[(rows,)](x, out, columns, BLOCK=1024, num_warps=4)
        return out
