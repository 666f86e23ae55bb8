import torch
import triton
import triton.language as tl


@triton.jit
def kernel(x, out, count, BLOCK: tl.constexpr):
    where = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    inside = where < count
    scaled = tl.load(x + where, mask=inside, other=0.0) * 20.0
    # Adding and taking away 1.5 * 2^23 rounds to the nearest integer, ties to even.
    rounded = (scaled + 12582912.0) - 12582912.0
    tl.store(out + where, tl.minimum(tl.maximum(rounded, -127.0), 127.0).to(tl.int8), mask=inside)


class ModelNew(torch.nn.Module):
    def forward(self, x):
        out = torch.empty_like(x, dtype=torch.int8)
        kernel[(triton.cdiv(x.numel(), 1024),)](x, out, x.numel(), 1024)
        return out
