"""A group of a sample a program: at most 16384 elements, held in registers."""

import torch
import triton
import triton.language as tl


@triton.jit
def group_norm(x, scale, shift, out, groups, each, places, BLOCK: tl.constexpr):
    size = each * places
    base = tl.program_id(0).to(tl.int64) * size
    at = tl.arange(0, BLOCK)
    inside = at < size
    value = tl.load(x + base + at, mask=inside, other=0.0)
    away = tl.where(inside, value - tl.sum(value) / size, 0.0)
    inverse = tl.rsqrt(tl.sum(away * away) / size + 1e-5)
    channel = tl.program_id(0) % groups * each + at // places
    a = tl.load(scale + channel, mask=inside, other=0.0)
    b = tl.load(shift + channel, mask=inside, other=0.0)
    tl.store(out + base + at, away * inverse * a + b, mask=inside)


class ModelNew(torch.nn.Module):
    def forward(self, x, scale, shift):
        batch, groups, each, places = x.shape
        out = torch.empty_like(x)
        block = triton.next_power_of_2(each * places)
        warps = min(16, max(1, block // 512))
        group_norm[(batch * groups,)](x, scale, shift, out, groups, each, places, BLOCK=block, num_warps=warps)
        return out
