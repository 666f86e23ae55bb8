# tunable BLOCK: 1024 512
import torch
import triton
import triton.language as tl

BLOCK = 1024


@triton.jit
def smooth(x, out, width, BLOCK: tl.constexpr):
    row = tl.program_id(0).to(tl.int64) * width
    at = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    left = tl.load(x + row + at - 1, mask=(at > 0) & (at <= width), other=0.0)
    middle = tl.load(x + row + at, mask=at < width, other=0.0)
    right = tl.load(x + row + at + 1, mask=at < width - 1, other=0.0)
    tl.store(out + row + at, 0.25 * left + 0.5 * middle + 0.25 * right, mask=at < width)


class ModelNew(torch.nn.Module):
    def forward(self, x):
        rows, width = x.shape
        out = torch.empty_like(x)
        smooth[(rows, triton.cdiv(width, BLOCK))](x, out, width, BLOCK=BLOCK)
        return out
