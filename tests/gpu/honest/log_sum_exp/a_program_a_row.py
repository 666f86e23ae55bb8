import torch
import triton
import triton.language as tl


@triton.jit
def kernel(x_at, out, width, WIDTH: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    lanes = tl.arange(0, WIDTH)
    inside = lanes < width
    x = tl.load(x_at + row * width + lanes, mask=inside, other=float("-inf"))
    largest = tl.max(x)
    tl.store(out + row, largest + tl.log(tl.sum(tl.exp(x - largest))))


class ModelNew(torch.nn.Module):
    def forward(self, x):
        rows, width = x.shape
        out = torch.empty(rows, device=x.device, dtype=x.dtype)
        kernel[(rows,)](x, out, width, triton.next_power_of_2(width), num_warps=8)
        return out
