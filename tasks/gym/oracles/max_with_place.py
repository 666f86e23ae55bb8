"""A row a program; of equal ones the first."""

import torch
import triton
import triton.language as tl


@triton.jit
def max_with_place(x, out, place, columns, BLOCK: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    at = tl.arange(0, BLOCK)
    value = tl.load(x + row * columns + at, mask=at < columns, other=-float("inf"))
    most, where = tl.max(value, 0, return_indices=True)
    tl.store(out + row, most)
    tl.store(place + row, where.to(tl.int64))


class ModelNew(torch.nn.Module):
    def forward(self, x):
        rows, columns = x.shape
        out = torch.empty((rows,), device=x.device, dtype=x.dtype)
        place = torch.empty((rows,), device=x.device, dtype=torch.int64)
        block = triton.next_power_of_2(columns)
        max_with_place[(rows,)](x, out, place, columns, BLOCK=block, num_warps=min(16, max(1, block // 512)))
        return out, place
