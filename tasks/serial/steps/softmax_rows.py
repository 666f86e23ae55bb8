#: base = block-per-row | | The rows are independent. | A program for each row, three passes of 256 elements at a time
#: online = online-softmax | !regs | The row is read three times. | Maximum and sum in one pass: the sum is rescaled where the maximum grows
#: regs = row-in-registers | !online | Every pass reads the row from memory again. | The row at once, kept in registers
#: warps = warps-and-stages | | Four warps keep few bytes in flight. | Eight warps
import torch
import triton
import triton.language as tl


@triton.jit
def softmax(x, out, COLUMNS: tl.constexpr, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    from_row = x + row * COLUMNS
    to_row = out + row * COLUMNS
#% if regs
    at = tl.arange(0, BLOCK)
    value = tl.load(from_row + at, mask=at < COLUMNS, other=float("-inf"))
    value = tl.exp(value - tl.max(value, axis=0))
    tl.store(to_row + at, value / tl.sum(value, axis=0), mask=at < COLUMNS)
#% else
    most = tl.full((), float("-inf"), dtype=tl.float32)
    total = tl.full((), 0.0, dtype=tl.float32)
#% if online
    for start in range(0, COLUMNS, BLOCK):
        at = start + tl.arange(0, BLOCK)
        value = tl.load(from_row + at, mask=at < COLUMNS, other=float("-inf"))
        grown = tl.maximum(most, tl.max(value, axis=0))
        total = total * tl.exp(most - grown) + tl.sum(tl.exp(value - grown), axis=0)
        most = grown
#% else
    for start in range(0, COLUMNS, BLOCK):
        at = start + tl.arange(0, BLOCK)
        most = tl.maximum(most, tl.max(tl.load(from_row + at, mask=at < COLUMNS, other=float("-inf")), axis=0))
    for start in range(0, COLUMNS, BLOCK):
        at = start + tl.arange(0, BLOCK)
        value = tl.load(from_row + at, mask=at < COLUMNS, other=float("-inf"))
        total += tl.sum(tl.exp(value - most), axis=0)
#% endif
    for start in range(0, COLUMNS, BLOCK):
        at = start + tl.arange(0, BLOCK)
        value = tl.load(from_row + at, mask=at < COLUMNS, other=float("-inf"))
        tl.store(to_row + at, tl.exp(value - most) / total, mask=at < COLUMNS)
#% endif


class ModelNew(torch.nn.Module):
    def forward(self, x):
        rows, columns = x.shape
        out = torch.empty_like(x)
        block = ${'triton.next_power_of_2(columns)' if regs else '256'}
        softmax[(rows,)](x, out, columns, block, num_warps=${8 if warps else 4})
        return out
