"""With e = exp(x) the tanh of the softplus is e (e + 2) / (e (e + 2) + 2): no logarithm, and nothing cancels."""

import torch
import triton
import triton.language as tl


@triton.jit
def mish(x, out, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = at < n
    value = tl.load(x + at, mask=inside, other=0.0)
    e = tl.exp(tl.minimum(value, 20.0))
    top = e * (e + 2.0)
    tl.store(out + at, value * (top / (top + 2.0)), mask=inside)


class ModelNew(torch.nn.Module):
    def forward(self, x):
        out = torch.empty_like(x)
        mish[(triton.cdiv(x.numel(), 2048),)](x, out, x.numel(), BLOCK=2048, num_warps=8)
        return out
