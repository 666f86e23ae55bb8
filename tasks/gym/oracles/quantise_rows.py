"""A row a program, read once; both divisions are IEEE's, and halves go to the even number, as the reference rounds."""

import torch
import triton
import triton.language as tl
from triton.language.extra import libdevice


@triton.jit
def quantise_rows(x, out, scales, columns, BLOCK: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    at = tl.arange(0, BLOCK)
    inside = at < columns
    value = tl.load(x + row * columns + at, mask=inside, other=0.0)
    scale = tl.div_rn(tl.maximum(tl.max(tl.abs(value)), 1e-8), 127.0)
    whole = libdevice.rint(tl.div_rn(value, tl.broadcast_to(scale, (BLOCK,))))
    whole = tl.minimum(tl.maximum(whole, -127.0), 127.0)
    tl.store(out + row * columns + at, whole.to(tl.int8), mask=inside)
    tl.store(scales + row, scale)


class ModelNew(torch.nn.Module):
    def forward(self, x):
        rows, columns = x.shape
        out = torch.empty((rows, columns), device=x.device, dtype=torch.int8)
        scales = torch.empty((rows,), device=x.device, dtype=x.dtype)
        block = triton.next_power_of_2(columns)
        quantise_rows[(rows,)](x, out, scales, columns, BLOCK=block, num_warps=min(16, max(1, block // 512)))
        return out, scales
