"""A row's tile a program: places are read in line, elements out of the cache."""

import torch
import triton
import triton.language as tl


@triton.jit
def gather_columns(x, places, out, columns, taken, BLOCK: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    at = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    inside = at < taken
    place = tl.load(places + row * taken + at, mask=inside, other=0)
    tl.store(out + row * taken + at, tl.load(x + row * columns + place, mask=inside, other=0.0), mask=inside)


class ModelNew(torch.nn.Module):
    def forward(self, x, places):
        rows, taken = places.shape
        out = torch.empty((rows, taken), device=x.device, dtype=x.dtype)
        block = min(1024, triton.next_power_of_2(taken))
        gather_columns[(rows, triton.cdiv(taken, block))](x, places, out, x.shape[1], taken, BLOCK=block)
        return out
