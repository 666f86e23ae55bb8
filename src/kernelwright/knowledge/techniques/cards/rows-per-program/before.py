import torch
import triton
import triton.language as tl


@triton.jit
def softmax(x, out, width, WIDTH: tl.constexpr):
    lanes = tl.arange(0, WIDTH)
    at = tl.program_id(0) * width + lanes
    value = tl.load(x + at, mask=lanes < width, other=-3.0e38)
    value = tl.exp(value - tl.max(value, axis=0))
    tl.store(out + at, value / tl.sum(value, axis=0), mask=lanes < width)


class ModelNew(torch.nn.Module):
    def forward(self, x):
        rows, width = x.shape
        out = torch.empty_like(x)
        softmax[(rows,)](x, out, width, WIDTH=triton.next_power_of_2(width))
        return out
