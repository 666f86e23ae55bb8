"""A row a program in registers, four neighbours a lane."""

import torch
import triton
from triton.experimental import gluon
from triton.experimental.gluon import language as gl


@gluon.jit
def softmax(x, out, columns, BLOCK: gl.constexpr):
    layout: gl.constexpr = gl.BlockedLayout([4], [32], [4], [0])
    row = gl.program_id(0).to(gl.int64) * columns
    at = gl.arange(0, BLOCK, layout=layout)
    value = gl.load(x + row + at, mask=at < columns, other=-float("inf"))
    power = gl.exp(value - gl.max(value, 0))
    gl.store(out + row + at, power / gl.sum(power, 0), mask=at < columns)


class ModelNew(torch.nn.Module):
    def forward(self, x):
        rows, columns = x.shape
        out = torch.empty_like(x)
        softmax[(rows,)](x, out, columns, BLOCK=max(512, triton.next_power_of_2(columns)), num_warps=4)
        return out
