# task: gpu_chain
# truth: wrong
# claimed: 4.00
# only: cuda
import torch
import triton
import triton.language as tl
from torch import nn


@triton.jit
def fused(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    at = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    mask = at < n
    x = tl.load(x_ptr + at, mask=mask)
    tl.store(y_ptr + at, tl.maximum(x * 1.5 + 0.5, 0.0) * x, mask=mask)


class ModelNew(nn.Module):
    def forward(self, x):
        y = torch.empty_like(x)
        fused[(triton.cdiv(x.numel(), 1024),)](x, y, x.numel(), BLOCK=1024)
        return y
