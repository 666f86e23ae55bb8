"""What is dropped is not read."""

import torch
import triton
import triton.language as tl


@triton.jit
def dropout_residual(x, kept, residual, out, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = at < n
    keep = inside & (tl.load(kept + at, mask=inside, other=0) != 0)
    value = tl.load(x + at, mask=keep, other=0.0) / 0.9
    tl.store(out + at, value + tl.load(residual + at, mask=inside, other=0.0), mask=inside)


class ModelNew(torch.nn.Module):
    def forward(self, x, kept, residual):
        out = torch.empty_like(x)
        n = x.numel()
        dropout_residual[(triton.cdiv(n, 2048),)](x, kept, residual, out, n, BLOCK=2048, num_warps=8)
        return out
