import torch
import triton
import triton.language as tl


@triton.jit
def kernel(x_at, out, count, BLOCK: tl.constexpr):
    where = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    inside = where < count
    x = tl.load(x_at + where, mask=inside)
    # log(1 + e) with what 1 + e rounds away put back.
    e = tl.exp(-tl.abs(x))
    u = 1.0 + e
    found = tl.maximum(x, 0.0) + tl.log(u) - ((u - 1.0) - e) / u
    tl.store(out + where, found, mask=inside)


class ModelNew(torch.nn.Module):
    def forward(self, x):
        out = torch.empty_like(x)
        count = x.numel()
        kernel[(triton.cdiv(count, 1024),)](x, out, count, 1024)
        return out
