"""A plane a program, read once for both."""

import torch
import triton
import triton.language as tl


@triton.jit
def global_pool(x, out, places, BLOCK: tl.constexpr):
    plane = tl.program_id(0).to(tl.int64)
    at = tl.arange(0, BLOCK)
    inside = at < places
    value = tl.load(x + plane * places + at, mask=inside, other=0.0)
    tl.store(out + 2 * plane, tl.sum(value) / places)
    tl.store(out + 2 * plane + 1, tl.max(tl.where(inside, value, -float("inf"))))


class ModelNew(torch.nn.Module):
    def forward(self, x):
        planes, places = x.shape
        out = torch.empty((planes, 2), device=x.device, dtype=x.dtype)
        block = triton.next_power_of_2(places)
        global_pool[(planes,)](x, out, places, BLOCK=block, num_warps=min(8, max(1, block // 256)))
        return out
