"""Tiles of 8 by 256: the row is read once for eight rows."""

import torch
import triton
import triton.language as tl


@triton.jit
def outer_add(a, b, c, out, rows, columns, M: tl.constexpr, N: tl.constexpr):
    i = tl.program_id(1) * M + tl.arange(0, M)
    j = tl.program_id(0) * N + tl.arange(0, N)
    inside = (i < rows)[:, None] & (j < columns)[None, :]
    at = i.to(tl.int64)[:, None] * columns + j[None, :]
    left = tl.load(a + i, mask=i < rows, other=0.0)[:, None]
    right = tl.load(b + j, mask=j < columns, other=0.0)[None, :]
    tl.store(out + at, left * right + tl.load(c + at, mask=inside, other=0.0), mask=inside)


class ModelNew(torch.nn.Module):
    def forward(self, a, b, c):
        rows, columns = c.shape
        out = torch.empty_like(c)
        outer_add[(triton.cdiv(columns, 256), triton.cdiv(rows, 8))](a, b, c, out, rows, columns, M=8, N=256)
        return out
