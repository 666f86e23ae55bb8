"""A row a program, read once; lanes beyond it are minus infinity."""

import torch
import triton
import triton.language as tl


@triton.jit
def softmax(x, out, columns, BLOCK: tl.constexpr):
    row = tl.program_id(0).to(tl.int64) * columns
    at = tl.arange(0, BLOCK)
    inside = at < columns
    value = tl.load(x + row + at, mask=inside, other=-float("inf"))
    power = tl.exp(value - tl.max(value))
    tl.store(out + row + at, power / tl.sum(power), mask=inside)


class ModelNew(torch.nn.Module):
    def forward(self, x):
        rows, columns = x.shape
        out = torch.empty_like(x)
        block = triton.next_power_of_2(columns)
        softmax[(rows,)](x, out, columns, BLOCK=block, num_warps=min(32, max(1, block // 512)))
        return out
