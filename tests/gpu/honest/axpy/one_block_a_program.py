import torch
import triton
import triton.language as tl


@triton.jit
def kernel(x_at, y_at, out, count, BLOCK: tl.constexpr):
    where = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    inside = where < count
    x = tl.load(x_at + where, mask=inside)
    y = tl.load(y_at + where, mask=inside)
    tl.store(out + where, x * 2.0 + y, mask=inside)


class ModelNew(torch.nn.Module):
    def forward(self, x, y):
        out = torch.empty_like(x)
        count = x.numel()
        kernel[(triton.cdiv(count, 1024),)](x, y, out, count, 1024)
        return out
