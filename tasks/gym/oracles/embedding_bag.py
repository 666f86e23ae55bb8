"""A bag a program; nothing is stored between."""

import torch
import triton
import triton.language as tl


@triton.jit
def embedding_bag(bags, table, out, each, width, BLOCK: tl.constexpr):
    bag = tl.program_id(0).to(tl.int64)
    at = tl.arange(0, BLOCK)
    total = tl.zeros((BLOCK,), tl.float32)
    for number in range(each):
        entry = tl.load(bags + bag * each + number)
        total += tl.load(table + entry * width + at, mask=at < width, other=0.0)
    tl.store(out + bag * width + at, total / each, mask=at < width)


class ModelNew(torch.nn.Module):
    def forward(self, bags, table):
        count, each = bags.shape
        width = table.shape[1]
        out = torch.empty((count, width), device=table.device, dtype=table.dtype)
        block = triton.next_power_of_2(width)
        embedding_bag[(count,)](bags, table, out, each, width, BLOCK=block, num_warps=min(4, max(1, block // 64)))
        return out
