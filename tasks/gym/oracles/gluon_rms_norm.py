"""A row a program of eight warps."""

import torch
import triton
from triton.experimental import gluon
from triton.experimental.gluon import language as gl


@gluon.jit
def rms_norm(x, scale, out, columns, BLOCK: gl.constexpr):
    layout: gl.constexpr = gl.BlockedLayout([4], [32], [8], [0])
    row = gl.program_id(0).to(gl.int64) * columns
    at = gl.arange(0, BLOCK, layout=layout)
    inside = at < columns
    value = gl.load(x + row + at, mask=inside, other=0.0)
    inverse = gl.rsqrt(gl.sum(value * value, 0) / columns + 1e-6)
    gl.store(out + row + at, value * inverse * gl.load(scale + at, mask=inside, other=0.0), mask=inside)


class ModelNew(torch.nn.Module):
    def forward(self, x, scale):
        rows, columns = x.shape
        out = torch.empty_like(x)
        rms_norm[(rows,)](x, scale, out, columns, BLOCK=max(1024, triton.next_power_of_2(columns)), num_warps=8)
        return out
