"""Whole numbers, so that no order matters: Triton's histogram in shared memory, tile by tile."""

import torch
import triton
import triton.language as tl


@triton.jit
def histogram(x, out, columns, BLOCK: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    count = tl.zeros((64,), tl.int32)
    for start in range(0, columns, BLOCK):
        at = start + tl.arange(0, BLOCK)
        inside = at < columns
        value = tl.load(x + row * columns + at, mask=inside, other=0).to(tl.int32)
        count += tl.histogram(value, 64, mask=inside)
    tl.store(out + row * 64 + tl.arange(0, 64), count.to(tl.int64))


class ModelNew(torch.nn.Module):
    def forward(self, x):
        rows, columns = x.shape
        out = torch.empty((rows, 64), device=x.device, dtype=torch.int64)
        histogram[(rows,)](x, out, columns, BLOCK=1024, num_warps=4)
        return out
