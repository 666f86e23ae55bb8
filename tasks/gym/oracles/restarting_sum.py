"""A segmented scan: pairs of a sum and whether a flag stood are associative."""

import torch
import triton
import triton.language as tl


@triton.jit
def joined(sum_a, flag_a, sum_b, flag_b):
    return tl.where(flag_b != 0, sum_b, sum_a + sum_b), flag_a | flag_b


@triton.jit
def restarting_sum(x, flags, out, columns, BLOCK: tl.constexpr):
    row = tl.program_id(0).to(tl.int64) * columns
    at = tl.arange(0, BLOCK)
    value = tl.load(x + row + at, mask=at < columns, other=0.0)
    flag = (tl.load(flags + row + at, mask=at < columns, other=0) != 0).to(tl.int32)
    total, _ = tl.associative_scan((value, flag), 0, joined)
    tl.store(out + row + at, total, mask=at < columns)


class ModelNew(torch.nn.Module):
    def forward(self, x, flags):
        rows, columns = x.shape
        out = torch.empty_like(x)
        block = triton.next_power_of_2(columns)
        restarting_sum[(rows,)](x, flags, out, columns, BLOCK=block, num_warps=min(8, max(1, block // 512)))
        return out
