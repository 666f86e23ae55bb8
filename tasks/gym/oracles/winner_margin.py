"""The second is the largest without the first one's place: two reductions in registers, no sort."""

import torch
import triton
import triton.language as tl


@triton.jit
def winner_margin(x, out, columns, BLOCK: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    at = tl.arange(0, BLOCK)
    inside = at < columns
    value = tl.load(x + row * columns + at, mask=inside, other=-float("inf"))
    first, place = tl.max(value, 0, return_indices=True)
    second = tl.max(tl.where(at == place, -float("inf"), value))
    away = tl.sum(tl.where(inside, first - value, 0.0)) / columns
    tl.store(out + row, (first - second) / (away + 1e-3))


class ModelNew(torch.nn.Module):
    def forward(self, x):
        rows, columns = x.shape
        out = torch.empty((rows,), device=x.device, dtype=x.dtype)
        block = triton.next_power_of_2(columns)
        winner_margin[(rows,)](x, out, columns, BLOCK=block, num_warps=min(16, max(1, block // 512)))
        return out
