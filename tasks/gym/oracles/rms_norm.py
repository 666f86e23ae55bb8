"""A row a program, read once."""

import torch
import triton
import triton.language as tl


@triton.jit
def rms_norm(x, scale, out, columns, BLOCK: tl.constexpr):
    row = tl.program_id(0).to(tl.int64) * columns
    at = tl.arange(0, BLOCK)
    inside = at < columns
    value = tl.load(x + row + at, mask=inside, other=0.0)
    inverse = tl.rsqrt(tl.sum(value * value) / columns + 1e-6)
    tl.store(out + row + at, value * inverse * tl.load(scale + at, mask=inside, other=0.0), mask=inside)


class ModelNew(torch.nn.Module):
    def forward(self, x, scale):
        rows, columns = x.shape
        out = torch.empty_like(x)
        block = triton.next_power_of_2(columns)
        warps = min(16, max(1, block // 512))
        rms_norm[(rows,)](x, scale, out, columns, BLOCK=block, num_warps=warps)
        return out
