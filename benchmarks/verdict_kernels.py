"""Tasks and kernels of `benchmarks/verdicts.py` that the mix does not have: LayerNorm over a slab, and a large product."""

LAYER_NORM_TASK = """\
import torch
from torch import nn


class Model(nn.Module):
    def __init__(self, shape):
        super().__init__()
        self.norm = nn.LayerNorm(shape)

    def forward(self, x):
        return self.norm(x)


def get_inputs():
    return [torch.randn(16, 64, 256, 256)]


def get_init_inputs():
    return [(64, 256, 256)]
"""
PRODUCT_TASK = """\
import torch
from torch import nn


class Model(nn.Module):
    def forward(self, a, b):
        return a @ b


def get_inputs():
    return [torch.randn(4096, 4096), torch.randn(4096, 4096)]
"""
LAYER_NORM = """\
import torch
import triton
import triton.language as tl


@triton.jit
def moments_$name(x, means, squares, BLOCK: tl.constexpr):
    chunk = tl.program_id(0).to(tl.int64)
    values = tl.load(x + chunk * BLOCK + tl.arange(0, BLOCK))
    mean = tl.sum(values) / BLOCK
    tl.store(means + chunk, mean)
    tl.store(squares + chunk, tl.sum((values - mean) * (values - mean)))


@triton.jit
def merge_$name(means, squares, mean_out, scale_out, BLOCK: tl.constexpr, CHUNKS: tl.constexpr):
    # Chan, Golub and LeVeque: moments of parts of equal size.
    row = tl.program_id(0)
    at = row * CHUNKS + tl.arange(0, CHUNKS)
    parts = tl.load(means + at)
    mean = tl.sum(parts) / CHUNKS
    total = tl.sum(tl.load(squares + at)) + BLOCK * tl.sum((parts - mean) * (parts - mean))
    tl.store(mean_out + row, mean)
    tl.store(scale_out + row, 1.0 / tl.sqrt(total / (BLOCK * CHUNKS) + 1e-5))


@triton.jit
def normalise_$name(x, weight, bias, means, scales, out, BLOCK: tl.constexpr, CHUNKS: tl.constexpr):
    chunk = tl.program_id(0).to(tl.int64)
    row, inner = chunk // CHUNKS, (chunk % CHUNKS) * BLOCK + tl.arange(0, BLOCK)
    at = chunk * BLOCK + tl.arange(0, BLOCK)
    off = (tl.load(x + at) - tl.load(means + row)) * tl.load(scales + row)
    tl.store(out + at, off * tl.load(weight + inner) + tl.load(bias + inner))


class ModelNew(torch.nn.Module):
    def __init__(self, shape):
        super().__init__()
        self.weight = torch.nn.Parameter(torch.ones(shape))
        self.bias = torch.nn.Parameter(torch.zeros(shape))

    def forward(self, x):
        rows, block = x.shape[0], 4096
        chunks = self.weight.numel() // block
        means, squares = torch.empty(rows * chunks, device=x.device), torch.empty(rows * chunks, device=x.device)
        mean, scale = torch.empty(rows, device=x.device), torch.empty(rows, device=x.device)
        out = torch.empty_like(x)
        moments_$name[(rows * chunks,)](x, means, squares, BLOCK=block, num_warps=8)
        merge_$name[(rows,)](means, squares, mean, scale, BLOCK=block, CHUNKS=chunks)
        normalise_$name[(rows * chunks,)](
            x, self.weight, self.bias, mean, scale, out, BLOCK=block, CHUNKS=chunks, num_warps=8
        )
        return out
"""
PRODUCT = """\
import torch
import triton
import triton.language as tl


@triton.jit
def product_$name(a, b, out, M, N, K, ROWS: tl.constexpr, COLUMNS: tl.constexpr, INNER: tl.constexpr):
    rows = tl.program_id(0) * ROWS + tl.arange(0, ROWS)
    columns = tl.program_id(1) * COLUMNS + tl.arange(0, COLUMNS)
    inner = tl.arange(0, INNER)
    total = tl.zeros((ROWS, COLUMNS), dtype=tl.float32)
    for start in range(0, K, INNER):
        k = start + inner
        left = tl.load(
            a + rows[:, None] * K + k[None, :], mask=(rows[:, None] < M) & (k[None, :] < K), other=0.0
        )
        right = tl.load(
            b + k[:, None] * N + columns[None, :], mask=(k[:, None] < K) & (columns[None, :] < N), other=0.0
        )
        total = tl.dot(left, right, total, input_precision="ieee")
    tl.store(out + rows[:, None] * N + columns[None, :], total, mask=(rows[:, None] < M) & (columns[None, :] < N))


class ModelNew(torch.nn.Module):
    def forward(self, a, b):
        (m, k), n = a.shape, b.shape[1]
        out = torch.empty(m, n, device=a.device)
        grid = (triton.cdiv(m, 64), triton.cdiv(n, 64))
        product_$name[grid](a, b, out, m, n, k, ROWS=64, COLUMNS=64, INNER=16, num_warps=4)
        return out
"""
