import torch
import triton
import triton.language as tl


@triton.jit
def kernel(x_at, out, width, WIDTH: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    lanes = tl.arange(0, WIDTH)
    inside = lanes < width
    x = tl.load(x_at + row * width + lanes, mask=inside, other=float("-inf"))
    tl.store(out + row, tl.argmax(x, axis=0))


class ModelNew(torch.nn.Module):
    def forward(self, x):
        rows, width = x.shape
        out = torch.empty(rows, device=x.device, dtype=torch.int64)
        kernel[(rows,)](x, out, width, triton.next_power_of_2(width), num_warps=8)
        return out
