"""32 columns a program, so that each line of memory is used whole; a running maximum and sum, then a second pass in cache."""

import torch
import triton
import triton.language as tl


@triton.jit
def column_softmax(x, out, rows, columns, M: tl.constexpr, N: tl.constexpr):
    j = tl.program_id(0) * N + tl.arange(0, N)
    most = tl.full((N,), -float("inf"), tl.float32)
    total = tl.zeros((N,), tl.float32)
    for start in range(0, rows, M):
        i = start + tl.arange(0, M)
        inside = (i < rows)[:, None] & (j < columns)[None, :]
        value = tl.load(x + i[:, None] * columns + j[None, :], mask=inside, other=-float("inf"))
        higher = tl.maximum(most, tl.max(value, 0))
        safe = tl.where(j < columns, higher, 0.0)
        total = total * tl.exp(most - safe) + tl.sum(tl.exp(value - safe[None, :]), 0)
        most = higher
    safe = tl.where(j < columns, most, 0.0)
    for start in range(0, rows, M):
        i = start + tl.arange(0, M)
        inside = (i < rows)[:, None] & (j < columns)[None, :]
        at = i[:, None] * columns + j[None, :]
        value = tl.load(x + at, mask=inside, other=0.0)
        tl.store(out + at, tl.exp(value - safe[None, :]) / total[None, :], mask=inside)


class ModelNew(torch.nn.Module):
    def forward(self, x):
        rows, columns = x.shape
        out = torch.empty_like(x)
        column_softmax[(triton.cdiv(columns, 32),)](x, out, rows, columns, M=64, N=32)
        return out
