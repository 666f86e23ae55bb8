import torch
import triton
import triton.language as tl


@triton.jit
def norm(x, weight, out, width, WIDTH: tl.constexpr):
    row = tl.program_id(0).to(tl.int64) * width
    lanes = tl.arange(0, WIDTH)
    inside = lanes < width
    value = tl.load(x + row + lanes, mask=inside, other=0.0)
    factor = tl.load(weight + lanes, mask=inside, other=0.0)
    scale = tl.rsqrt(tl.sum(value * value, axis=0) / width + 1e-5)
    tl.store(out + row + lanes, value * scale * factor, mask=inside)


class ModelNew(torch.nn.Module):
    def forward(self, x, weight):
        rows, width = x.shape
        out = torch.empty_like(x)
        norm[(rows,)](x, weight, out, width, WIDTH=triton.next_power_of_2(width), num_warps=8)
        return out
