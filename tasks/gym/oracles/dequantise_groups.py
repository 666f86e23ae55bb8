"""32 groups of 32 a program: scale and zero are read once for a group."""

import torch
import triton
import triton.language as tl


@triton.jit
def dequantise_groups(x, scale, zero, out, count, G: tl.constexpr):
    group = tl.program_id(0) * G + tl.arange(0, G)
    inside = group < count
    at = group.to(tl.int64)[:, None] * 32 + tl.arange(0, 32)[None, :]
    factor = tl.load(scale + group, mask=inside, other=0.0)[:, None]
    away = tl.load(zero + group, mask=inside, other=0).to(tl.float32)[:, None]
    value = tl.load(x + at, mask=inside[:, None], other=0).to(tl.float32)
    tl.store(out + at, (value - away) * factor, mask=inside[:, None])


class ModelNew(torch.nn.Module):
    def forward(self, x, scale, zero):
        out = torch.empty(x.shape, device=x.device, dtype=torch.float32)
        dequantise_groups[(triton.cdiv(scale.numel(), 32),)](x, scale, zero, out, scale.numel(), G=32, num_warps=4)
        return out
