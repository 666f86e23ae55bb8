"""A row a program, widened as it is read."""

import torch
import triton
import triton.language as tl


@triton.jit
def log_softmax(x, out, columns, BLOCK: tl.constexpr):
    row = tl.program_id(0).to(tl.int64) * columns
    at = tl.arange(0, BLOCK)
    inside = at < columns
    value = tl.load(x + row + at, mask=inside, other=-float("inf")).to(tl.float32)
    away = value - tl.max(value)
    tl.store(out + row + at, away - tl.log(tl.sum(tl.exp(away))), mask=inside)


class ModelNew(torch.nn.Module):
    def forward(self, x):
        rows, columns = x.shape
        out = torch.empty((rows, columns), device=x.device, dtype=torch.float32)
        block = triton.next_power_of_2(columns)
        log_softmax[(rows,)](x, out, columns, BLOCK=block, num_warps=min(32, max(1, block // 512)))
        return out
