"""A row a program; 768 columns are three elements a lane of eight warps."""

import torch
import triton
import triton.language as tl


@triton.jit
def unit_rows(x, out, columns, BLOCK: tl.constexpr):
    row = tl.program_id(0).to(tl.int64) * columns
    at = tl.arange(0, BLOCK)
    inside = at < columns
    value = tl.load(x + row + at, mask=inside, other=0.0)
    length = tl.sqrt(tl.sum(value * value))
    tl.store(out + row + at, value / tl.maximum(length, 1e-12), mask=inside)


class ModelNew(torch.nn.Module):
    def forward(self, x):
        rows, columns = x.shape
        out = torch.empty_like(x)
        block = triton.next_power_of_2(columns)
        unit_rows[(rows,)](x, out, columns, BLOCK=block, num_warps=min(8, max(1, block // 256)))
        return out
