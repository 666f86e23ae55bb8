"""A row a program as pairs: two maxima and two sums, along the pairs."""

import torch
import triton
import triton.language as tl


@triton.jit
def parted_softmax(x, out, half, BLOCK: tl.constexpr):
    row = tl.program_id(0).to(tl.int64) * 2 * half
    at = tl.arange(0, BLOCK)[:, None] * 2 + tl.arange(0, 2)[None, :]
    inside = at < 2 * half
    value = tl.load(x + row + at, mask=inside, other=-float("inf"))
    power = tl.exp(value - tl.max(value, 0)[None, :])
    tl.store(out + row + at, power / tl.sum(power, 0)[None, :], mask=inside)


class ModelNew(torch.nn.Module):
    def forward(self, x):
        rows, half = x.shape[0], x.shape[1] // 2
        out = torch.empty_like(x)
        block = triton.next_power_of_2(half)
        parted_softmax[(rows,)](x, out, half, BLOCK=block, num_warps=min(16, max(1, block // 256)))
        return out
