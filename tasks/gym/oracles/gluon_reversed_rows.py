"""A tile rests in shared memory, from which each lane takes what lies on the other side."""

import torch
import triton
from triton.experimental import gluon
from triton.experimental.gluon import language as gl


@gluon.jit
def reversed_rows(x, out, columns, BLOCK: gl.constexpr):
    layout: gl.constexpr = gl.BlockedLayout([1], [32], [4], [0])
    shared: gl.constexpr = gl.SwizzledSharedLayout(1, 1, 1, order=[0])
    row = gl.program_id(0).to(gl.int64) * columns
    at = gl.arange(0, BLOCK, layout=layout)
    value = gl.load(x + row + at, mask=at < columns, other=0.0)
    rest = gl.allocate_shared_memory(gl.float32, [BLOCK], shared, value)
    gl.barrier()
    back = gl.where(at < columns, columns - 1 - at, 0)
    gl.store(out + row + at, 2.0 * rest.gather(back, 0), mask=at < columns)


class ModelNew(torch.nn.Module):
    def forward(self, x):
        rows, columns = x.shape
        out = torch.empty_like(x)
        reversed_rows[(rows,)](x, out, columns, BLOCK=max(128, triton.next_power_of_2(columns)), num_warps=4)
        return out
