#: base = block-per-row | | The rows are independent. | A program for each row, three passes of 256 elements at a time
#: one = fused-passes | !regs | Mean and variance take a pass each. | Sum and sum of squares in one pass
#: regs = row-in-registers | !one | Every pass reads the row from memory again. | The row at once, kept in registers
#: warps = warps-and-stages | | Four warps keep few bytes in flight. | Eight warps
import torch
import triton
import triton.language as tl


@triton.jit
def norm(x, out, COLUMNS: tl.constexpr, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    from_row = x + row * COLUMNS
    to_row = out + row * COLUMNS
#% if regs
    at = tl.arange(0, BLOCK)
    there = at < COLUMNS
    value = tl.load(from_row + at, mask=there, other=0.0)
    value = tl.where(there, value - tl.sum(value, axis=0) / COLUMNS, 0.0)
    scale = tl.rsqrt(tl.sum(value * value, axis=0) / COLUMNS + 1e-5)
    tl.store(to_row + at, value * scale, mask=there)
#% else
    total = tl.full((), 0.0, dtype=tl.float32)
    squares = tl.full((), 0.0, dtype=tl.float32)
#% if one
    for start in range(0, COLUMNS, BLOCK):
        at = start + tl.arange(0, BLOCK)
        value = tl.load(from_row + at, mask=at < COLUMNS, other=0.0)
        total += tl.sum(value, axis=0)
        squares += tl.sum(value * value, axis=0)
    mean = total / COLUMNS
    variance = squares / COLUMNS - mean * mean
#% else
    for start in range(0, COLUMNS, BLOCK):
        at = start + tl.arange(0, BLOCK)
        total += tl.sum(tl.load(from_row + at, mask=at < COLUMNS, other=0.0), axis=0)
    mean = total / COLUMNS
    for start in range(0, COLUMNS, BLOCK):
        at = start + tl.arange(0, BLOCK)
        there = at < COLUMNS
        value = tl.where(there, tl.load(from_row + at, mask=there, other=0.0) - mean, 0.0)
        squares += tl.sum(value * value, axis=0)
    variance = squares / COLUMNS
#% endif
    scale = tl.rsqrt(variance + 1e-5)
    for start in range(0, COLUMNS, BLOCK):
        at = start + tl.arange(0, BLOCK)
        value = tl.load(from_row + at, mask=at < COLUMNS, other=0.0)
        tl.store(to_row + at, (value - mean) * scale, mask=at < COLUMNS)
#% endif


class ModelNew(torch.nn.Module):
    def forward(self, x):
        rows, columns = x.shape
        out = torch.empty_like(x)
        block = ${'triton.next_power_of_2(columns)' if regs else '256'}
        norm[(rows,)](x, out, columns, block, num_warps=${8 if warps else 4})
        return out
