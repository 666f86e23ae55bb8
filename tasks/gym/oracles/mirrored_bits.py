"""The mirrored place is eight shifts in registers; four rows a program."""

import torch
import triton
import triton.language as tl


@triton.jit
def mirrored_bits(x, out, rows, R: tl.constexpr):
    row = tl.program_id(0) * R + tl.arange(0, R)
    place = tl.arange(0, 256)
    mirrored = tl.zeros((256,), tl.int32)
    for bit in tl.static_range(8):
        mirrored |= ((place >> bit) & 1) << (7 - bit)
    inside = (row < rows)[:, None]
    base = row.to(tl.int64)[:, None] * 256
    here = tl.load(x + base + place[None, :], mask=inside, other=0.0)
    there = tl.load(x + base + mirrored[None, :], mask=inside, other=0.0)
    tl.store(out + base + place[None, :], 0.5 * (here + there), mask=inside)


class ModelNew(torch.nn.Module):
    def forward(self, x):
        out = torch.empty_like(x)
        mirrored_bits[(triton.cdiv(x.shape[0], 4),)](x, out, x.shape[0], R=4, num_warps=4)
        return out
