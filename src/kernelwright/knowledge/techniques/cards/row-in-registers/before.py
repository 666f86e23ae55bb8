import torch
import triton
import triton.language as tl


@triton.jit
def norm(x, weight, out, width, BLOCK: tl.constexpr):
    row = tl.program_id(0).to(tl.int64) * width
    lanes = tl.arange(0, BLOCK)
    squares = tl.zeros((BLOCK,), dtype=tl.float32)
    for start in range(0, width, BLOCK):
        value = tl.load(x + row + start + lanes, mask=start + lanes < width, other=0.0)
        squares += value * value
    scale = tl.rsqrt(tl.sum(squares, axis=0) / width + 1e-5)
    for start in range(0, width, BLOCK):
        inside = start + lanes < width
        value = tl.load(x + row + start + lanes, mask=inside, other=0.0)
        factor = tl.load(weight + start + lanes, mask=inside, other=0.0)
        tl.store(out + row + start + lanes, value * scale * factor, mask=inside)


class ModelNew(torch.nn.Module):
    def forward(self, x, weight):
        rows, width = x.shape
        out = torch.empty_like(x)
        norm[(rows,)](x, weight, out, width, BLOCK=1024, num_warps=8)
        return out
