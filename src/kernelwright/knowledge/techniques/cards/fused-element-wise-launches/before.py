import torch
import triton
import triton.language as tl


@triton.jit
def sigmoid(gate, out, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out + at, 1.0 / (1.0 + tl.exp(-tl.load(gate + at))))


@triton.jit
def multiply(x, y, out, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out + at, tl.load(x + at) * tl.load(y + at))


@triton.jit
def add(x, y, out, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out + at, tl.load(x + at) + tl.load(y + at))


class ModelNew(torch.nn.Module):
    def forward(self, x, gate):
        opened, gated, out = torch.empty_like(x), torch.empty_like(x), torch.empty_like(x)
        grid = (x.numel() // 1024,)
        sigmoid[grid](gate, opened, BLOCK=1024)
        multiply[grid](x, opened, gated, BLOCK=1024)
        add[grid](x, gated, out, BLOCK=1024)
        return out
