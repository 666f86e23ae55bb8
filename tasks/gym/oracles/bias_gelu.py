"""Tiles of a row's columns, so that no division finds the column. tanh by an exponential of what is never positive."""

import torch
import triton
import triton.language as tl


@triton.jit
def bias_gelu(x, bias, out, columns, BLOCK: tl.constexpr):
    at = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    inside = at < columns
    row = tl.program_id(0).to(tl.int64) * columns
    value = tl.load(x + row + at, mask=inside, other=0.0) + tl.load(bias + at, mask=inside, other=0.0)
    argument = 0.7978845608028654 * (value + 0.044715 * value * value * value)
    tl.store(out + row + at, value * tl.sigmoid(2.0 * argument), mask=inside)


class ModelNew(torch.nn.Module):
    def forward(self, x, bias):
        rows, columns = x.shape
        out = torch.empty_like(x)
        block = min(2048, triton.next_power_of_2(columns))
        bias_gelu[(rows, triton.cdiv(columns, block))](x, bias, out, columns, BLOCK=block)
        return out
