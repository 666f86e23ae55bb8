"""32 columns a program are one line of memory a row; 64 rows are read at a time."""

import torch
import triton
import triton.language as tl


@triton.jit
def column_mean(x, out, rows, columns, M: tl.constexpr, N: tl.constexpr):
    j = tl.program_id(0) * N + tl.arange(0, N)
    total = tl.zeros((M, N), tl.float32)
    for start in range(0, rows, M):
        i = start + tl.arange(0, M)
        inside = (i < rows)[:, None] & (j < columns)[None, :]
        total += tl.load(x + i[:, None] * columns + j[None, :], mask=inside, other=0.0)
    tl.store(out + j, tl.sum(total, 0) / rows, mask=j < columns)


class ModelNew(torch.nn.Module):
    def forward(self, x):
        rows, columns = x.shape
        out = torch.empty((columns,), device=x.device, dtype=x.dtype)
        column_mean[(triton.cdiv(columns, 32),)](x, out, rows, columns, M=64, N=32, num_warps=8)
        return out
