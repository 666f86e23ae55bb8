"""The distance is computed where it is used; a row a program."""

import torch
import triton
import triton.language as tl


@triton.jit
def slanted_scores(scores, slopes, out, queries, keys, BLOCK: tl.constexpr):
    query, head = tl.program_id(0), tl.program_id(1)
    at = tl.arange(0, BLOCK)
    row = (head * queries + query).to(tl.int64) * keys
    value = tl.load(scores + row + at, mask=at < keys, other=-float("inf"))
    value -= tl.load(slopes + head) * tl.abs(at - query).to(tl.float32)
    power = tl.exp(value - tl.max(value))
    tl.store(out + row + at, power / tl.sum(power), mask=at < keys)


class ModelNew(torch.nn.Module):
    def forward(self, scores, slopes):
        heads, queries, keys = scores.shape
        out = torch.empty_like(scores)
        block = triton.next_power_of_2(keys)
        warps = min(16, max(1, block // 512))
        slanted_scores[(queries, heads)](scores, slopes, out, queries, keys, BLOCK=block, num_warps=warps)
        return out
