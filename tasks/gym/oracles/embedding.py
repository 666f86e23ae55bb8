"""A token a program."""

import torch
import triton
import triton.language as tl


@triton.jit
def embedding(tokens, table, out, width, factor, BLOCK: tl.constexpr):
    token = tl.program_id(0).to(tl.int64)
    entry = tl.load(tokens + token)
    for start in range(0, width, BLOCK):
        at = start + tl.arange(0, BLOCK)
        value = tl.load(table + entry * width + at, mask=at < width)
        tl.store(out + token * width + at, value * factor, mask=at < width)


class ModelNew(torch.nn.Module):
    def forward(self, tokens, table):
        width = table.shape[1]
        out = torch.empty((tokens.shape[0], width), device=table.device, dtype=table.dtype)
        block = min(1024, triton.next_power_of_2(width))
        embedding[(tokens.shape[0],)](tokens, table, out, width, width**0.5, BLOCK=block)
        return out
