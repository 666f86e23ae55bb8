import torch
import triton
import triton.language as tl


@triton.jit
def kernel(x, scale, shift, out, width, WIDTH: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    lanes = tl.arange(0, WIDTH)
    inside = lanes < width
    values = tl.load(x + row * width + lanes, mask=inside) * tl.load(scale + lanes, mask=inside)
    tl.store(out + row * width + lanes, values + tl.load(shift + row), mask=inside)


class ModelNew(torch.nn.Module):
    def forward(self, x, scale, shift):
        rows, width = x.shape
        out = torch.empty_like(x)
        kernel[(rows,)](x, scale, shift, out, width, triton.next_power_of_2(width), num_warps=8)
        return out
