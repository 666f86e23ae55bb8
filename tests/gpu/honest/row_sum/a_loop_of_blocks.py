import torch
import triton
import triton.language as tl


@triton.jit
def kernel(x, out, width, BLOCK: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    lanes = tl.arange(0, BLOCK)
    total = tl.zeros((BLOCK,), dtype=tl.float32)
    for start in range(0, width, BLOCK):
        inside = start + lanes < width
        total += tl.load(x + row * width + start + lanes, mask=inside, other=0.0)
    tl.store(out + row, tl.sum(total))


class ModelNew(torch.nn.Module):
    def forward(self, x):
        rows, width = x.shape
        out = torch.empty(rows, device=x.device)
        kernel[(rows,)](x, out, width, 256)
        return out
