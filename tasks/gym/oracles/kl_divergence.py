"""Both rows stay in registers; no logarithm of an element is taken."""

import torch
import triton
import triton.language as tl


@triton.jit
def kl_divergence(x, y, out, classes, BLOCK: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    at = tl.arange(0, BLOCK)
    inside = at < classes
    p = tl.load(x + row * classes + at, mask=inside, other=-float("inf"))
    q = tl.load(y + row * classes + at, mask=inside, other=-float("inf"))
    p, q = p - tl.max(p), q - tl.max(q)
    p = p - tl.log(tl.sum(tl.exp(p)))
    q = q - tl.log(tl.sum(tl.exp(q)))
    tl.store(out + row, tl.sum(tl.where(inside, tl.exp(q) * (q - p), 0.0)))


class ModelNew(torch.nn.Module):
    def forward(self, x, y):
        rows, classes = x.shape
        out = torch.empty((rows,), device=x.device, dtype=x.dtype)
        block = triton.next_power_of_2(classes)
        kl_divergence[(rows,)](x, y, out, classes, BLOCK=block, num_warps=min(32, max(1, block // 512)))
        return out
