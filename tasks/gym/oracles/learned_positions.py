"""A step of an entry a program."""

import torch
import triton
import triton.language as tl


@triton.jit
def learned_positions(x, places, kinds, out, steps, width, BLOCK: tl.constexpr):
    step, entry = tl.program_id(0), tl.program_id(1)
    for start in range(0, width, BLOCK):
        at = start + tl.arange(0, BLOCK)
        inside = at < width
        row = (entry * steps + step).to(tl.int64) * width + at
        value = tl.load(x + row, mask=inside, other=0.0)
        value += tl.load(places + step * width + at, mask=inside, other=0.0)
        value += tl.load(kinds + entry * width + at, mask=inside, other=0.0)
        tl.store(out + row, value, mask=inside)


class ModelNew(torch.nn.Module):
    def forward(self, x, places, kinds):
        batch, steps, width = x.shape
        out = torch.empty_like(x)
        block = min(1024, triton.next_power_of_2(width))
        learned_positions[(steps, batch)](x, places, kinds, out, steps, width, BLOCK=block)
        return out
