"""A running maximum and sum for each lane, put together at the end: no row is too long for registers."""

import torch
import triton
import triton.language as tl


@triton.jit
def log_sum_exp(x, out, columns, BLOCK: tl.constexpr):
    row = tl.program_id(0).to(tl.int64) * columns
    at = tl.arange(0, BLOCK)
    most = tl.full((BLOCK,), -float("inf"), tl.float32)
    total = tl.zeros((BLOCK,), tl.float32)
    for start in range(0, columns, BLOCK):
        value = tl.load(x + row + start + at, mask=start + at < columns, other=-float("inf"))
        higher = tl.maximum(most, value)
        safe = tl.where(higher == -float("inf"), 0.0, higher)
        total = total * tl.exp(most - safe) + tl.exp(value - safe)
        most = higher
    top = tl.max(most)
    tl.store(out + tl.program_id(0), top + tl.log(tl.sum(total * tl.exp(most - top))))


class ModelNew(torch.nn.Module):
    def forward(self, x):
        rows, columns = x.shape
        out = torch.empty((rows,), device=x.device, dtype=x.dtype)
        log_sum_exp[(rows,)](x, out, columns, BLOCK=4096, num_warps=8)
        return out
