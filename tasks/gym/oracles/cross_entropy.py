"""A row a program: one read of the logits, and one more of the label's."""

import torch
import triton
import triton.language as tl


@triton.jit
def cross_entropy(logits, labels, out, classes, BLOCK: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    at = tl.arange(0, BLOCK)
    value = tl.load(logits + row * classes + at, mask=at < classes, other=-float("inf"))
    most = tl.max(value)
    chosen = tl.load(logits + row * classes + tl.load(labels + row))
    tl.store(out + row, tl.log(tl.sum(tl.exp(value - most))) + most - chosen)


class ModelNew(torch.nn.Module):
    def forward(self, logits, labels):
        rows, classes = logits.shape
        out = torch.empty((rows,), device=logits.device, dtype=logits.dtype)
        block = triton.next_power_of_2(classes)
        warps = min(32, max(1, block // 512))
        cross_entropy[(rows,)](logits, labels, out, classes, BLOCK=block, num_warps=warps)
        return out
