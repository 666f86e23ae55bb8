"""The neighbour is read again, out of the first cache; the last element's is the first."""

import torch
import triton
import triton.language as tl


@triton.jit
def roughness_norm(x, out, columns, BLOCK: tl.constexpr):
    row = tl.program_id(0).to(tl.int64) * columns
    at = tl.arange(0, BLOCK)
    inside = at < columns
    value = tl.load(x + row + at, mask=inside, other=0.0)
    after = tl.load(x + row + tl.where(at + 1 < columns, at + 1, 0), mask=inside, other=0.0)
    step = after - value
    tl.store(out + row + at, value * tl.rsqrt(tl.sum(step * step) / columns + 1e-5), mask=inside)


class ModelNew(torch.nn.Module):
    def forward(self, x):
        rows, columns = x.shape
        out = torch.empty_like(x)
        block = triton.next_power_of_2(columns)
        roughness_norm[(rows,)](x, out, columns, BLOCK=block, num_warps=min(16, max(1, block // 512)))
        return out
