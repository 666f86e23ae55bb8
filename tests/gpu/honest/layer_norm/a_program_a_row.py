import torch
import triton
import triton.language as tl


@triton.jit
def kernel(x_at, weight, bias, out, width, WIDTH: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    lanes = tl.arange(0, WIDTH)
    inside = lanes < width
    x = tl.load(x_at + row * width + lanes, mask=inside, other=0.0)
    mean = tl.sum(x) / width
    off = tl.where(inside, x - mean, 0.0)
    scale = 1.0 / tl.sqrt(tl.sum(off * off) / width + 1e-5)
    found = off * scale * tl.load(weight + lanes, mask=inside) + tl.load(bias + lanes, mask=inside)
    tl.store(out + row * width + lanes, found, mask=inside)


class ModelNew(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.weight = torch.nn.Parameter(torch.ones(2048))
        self.bias = torch.nn.Parameter(torch.zeros(2048))

    def forward(self, x):
        rows, width = x.shape
        out = torch.empty_like(x)
        kernel[(rows,)](x, self.weight, self.bias, out, width, triton.next_power_of_2(width), num_warps=8)
        return out
