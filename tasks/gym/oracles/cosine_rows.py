"""Three sums of a row in one pass; each length is held above 1e-8, as the reference does."""

import torch
import triton
import triton.language as tl


@triton.jit
def cosine_rows(x, y, out, columns, BLOCK: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    at = tl.arange(0, BLOCK)
    inside = at < columns
    a = tl.load(x + row * columns + at, mask=inside, other=0.0)
    b = tl.load(y + row * columns + at, mask=inside, other=0.0)
    left = tl.maximum(tl.sqrt(tl.sum(a * a)), 1e-8)
    right = tl.maximum(tl.sqrt(tl.sum(b * b)), 1e-8)
    tl.store(out + row, tl.sum((a / left) * (b / right)))


class ModelNew(torch.nn.Module):
    def forward(self, x, y):
        rows, columns = x.shape
        out = torch.empty((rows,), device=x.device, dtype=x.dtype)
        block = triton.next_power_of_2(columns)
        cosine_rows[(rows,)](x, y, out, columns, BLOCK=block, num_warps=min(8, max(1, block // 256)))
        return out
