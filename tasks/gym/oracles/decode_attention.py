"""Bound by the cache, which is read once: sums of products instead of tensor cores, which one query would not fill."""

import torch
import triton
import triton.language as tl


@triton.jit
def decode_attention(q, k, v, out, steps, N: tl.constexpr, D: tl.constexpr):
    head = tl.program_id(0).to(tl.int64)
    d = tl.arange(0, D)
    query = tl.load(q + head * D + d) * 0.125
    most = -float("inf")
    total = 0.0
    sums = tl.zeros((D,), tl.float32)
    for start in range(0, steps, N):
        j = start + tl.arange(0, N)
        at = head * steps * D + j[:, None] * D + d[None, :]
        key = tl.load(k + at, mask=(j < steps)[:, None], other=0.0)
        score = tl.where(j < steps, tl.sum(key * query[None, :], 1), -float("inf"))
        higher = tl.maximum(most, tl.max(score))
        power = tl.exp(score - higher)
        less = tl.exp(most - higher)
        value = tl.load(v + at, mask=(j < steps)[:, None], other=0.0)
        sums = sums * less + tl.sum(power[:, None] * value, 0)
        total = total * less + tl.sum(power)
        most = higher
    tl.store(out + head * D + d, sums / total)


class ModelNew(torch.nn.Module):
    def forward(self, q, k, v):
        heads, steps, width = k.shape
        out = torch.empty_like(q)
        decode_attention[(heads,)](q, k, v, out, steps, N=64, D=width, num_warps=4)
        return out
