"""A channel of a sample a program: its scale and shift are read once."""

import torch
import triton
import triton.language as tl


@triton.jit
def channel_affine(x, scale, shift, out, channels, places, BLOCK: tl.constexpr):
    plane = tl.program_id(0)
    channel = plane % channels
    a, b = tl.load(scale + channel), tl.load(shift + channel)
    base = plane.to(tl.int64) * places
    for start in range(0, places, BLOCK):
        at = start + tl.arange(0, BLOCK)
        inside = at < places
        tl.store(out + base + at, tl.load(x + base + at, mask=inside) * a + b, mask=inside)


class ModelNew(torch.nn.Module):
    def forward(self, x, scale, shift):
        batch, channels, places = x.shape
        out = torch.empty_like(x)
        block = min(2048, triton.next_power_of_2(places))
        channel_affine[(batch * channels,)](x, scale, shift, out, channels, places, BLOCK=block)
        return out
