import torch
import triton
import triton.language as tl


@triton.jit
def running(x, out, width, WIDTH: tl.constexpr):
    row = tl.program_id(0).to(tl.int64) * width
    lanes = tl.arange(0, WIDTH)
    inside = lanes < width
    values = tl.load(x + row + lanes, mask=inside, other=0.0)
    tl.store(out + row + lanes, tl.cumsum(values, axis=0), mask=inside)


class ModelNew(torch.nn.Module):
    def forward(self, x):
        rows, width = x.shape
        out = torch.empty_like(x)
        running[(rows,)](x, out, width, WIDTH=triton.next_power_of_2(width), num_warps=4)
        return out
