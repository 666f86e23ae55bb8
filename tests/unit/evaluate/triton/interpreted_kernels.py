# ruff: noqa: C901, N803
"""Kernels and launches that run in the processes of conftest; each launch returns a tensor."""

import numpy as np
import torch
import triton
import triton.language as tl

from kernelwright.evaluate.triton.interpret import install

SIZE = 256


@triton.jit
def binary(x, y, out, OP: tl.constexpr, N: tl.constexpr):
    at = tl.arange(0, N)
    a = tl.load(x + at)
    b = tl.load(y + at)
    if OP == "add":
        r = a + b
    elif OP == "sub":
        r = a - b
    elif OP == "mul":
        r = a * b
    elif OP == "div":
        r = a / b
    elif OP == "neg":
        r = -a
    elif OP == "abs":
        r = tl.abs(a)
    elif OP == "scale":
        r = a * 2.5
    elif OP == "maximum":
        r = tl.maximum(a, b)
    elif OP == "where":
        r = tl.where(a > b, a, b * a)
    elif OP == "fma":
        r = tl.fma(a, b, a)
    elif OP == "full":
        r = tl.full((N,), 1.25, tl.bfloat16) + a
    elif OP == "bits":
        r = (a.to(tl.int16, bitcast=True) ^ 0).to(tl.bfloat16, bitcast=True)
    elif OP == "through_int":
        r = (a * 16).to(tl.int32).to(tl.bfloat16)
    elif OP == "through_half":
        r = a.to(tl.float16).to(tl.bfloat16)
    elif OP == "other":
        r = tl.load(x + at, mask=at < 7, other=1.5)
    tl.store(out + at, r)


@triton.jit
def compare(x, y, out, OP: tl.constexpr, N: tl.constexpr):
    at = tl.arange(0, N)
    a = tl.load(x + at)
    b = tl.load(y + at)
    if OP == "lt":
        r = a < b
    elif OP == "ge":
        r = a >= b
    elif OP == "eq":
        r = a == b
    else:
        r = a != b
    tl.store(out + at, r.to(tl.int32))


@triton.jit
def cast(x, out, DTYPE: tl.constexpr, N: tl.constexpr):
    at = tl.arange(0, N)
    tl.store(out + at, tl.load(x + at).to(DTYPE).to(out.dtype.element_ty))


@triton.jit
def truncate(x, out, N: tl.constexpr):
    at = tl.arange(0, N)
    tl.store(out + at, tl.load(x + at).to(tl.bfloat16, fp_downcast_rounding="rtz"))


@triton.jit
def reduce(x, out, OP: tl.constexpr, N: tl.constexpr):
    rows = tl.arange(0, 16)
    at = rows[:, None] * N + tl.arange(0, N)[None, :]
    value = tl.load(x + at)
    if OP == "sum":
        r = tl.sum(value, axis=1)
    elif OP == "max":
        r = tl.max(value, axis=1)
    elif OP == "min":
        r = tl.min(value, axis=1)
    elif OP == "argmax":
        r = tl.argmax(value, axis=1)
    tl.store(out + rows, r)


@triton.jit
def scan(x, out, N: tl.constexpr):
    at = tl.arange(0, N)
    tl.store(out + at, tl.cumsum(tl.load(x + at), axis=0))


@triton.jit
def order(x, out, N: tl.constexpr):
    at = tl.arange(0, N)
    tl.store(out + at, tl.sort(tl.load(x + at)))


@triton.jit
def product(x, y, out, P: tl.constexpr, N: tl.constexpr):
    at = tl.arange(0, N)[:, None] * N + tl.arange(0, N)[None, :]
    tl.store(out + at, tl.dot(tl.load(x + at), tl.load(y + at), input_precision=P))


@triton.jit
def accumulate(x, out, N: tl.constexpr):
    at = tl.arange(0, N)
    tl.atomic_add(out + at % 4, tl.load(x + at))


@triton.jit
def described(x, out, N: tl.constexpr):
    source = tl.make_tensor_descriptor(x, shape=[N, N], strides=[N, 1], block_shape=[16, 16])
    target = tl.make_tensor_descriptor(out, shape=[N, N], strides=[N, 1], block_shape=[16, 16])
    at = tl.program_id(0) * 16
    target.store([at, 0], source.load([at, 0]) * 2)


@triton.jit
def special(x, out, OP: tl.constexpr, N: tl.constexpr):
    at = tl.arange(0, N)
    value = tl.load(x + at)
    if OP == "erf":
        r = tl.erf(value)
    elif OP == "exp":
        r = tl.exp(value)
    elif OP == "sigmoid":
        r = tl.sigmoid(value)
    tl.store(out + at, r)


def launch(repair, kernel, arguments, constants, grid=(1,)):
    """Run one kernel; the last tensor is the result. Numpy's warnings are about values, not code."""
    if repair:
        install()
    with np.errstate(all="ignore"):
        KERNELS[kernel][grid](*arguments, **constants)
    return arguments[-1]


KERNELS = {
    k.fn.__name__ if hasattr(k, "fn") else k.__name__: k
    for k in (
        binary, compare, cast, truncate, reduce, scan, order, product, accumulate, described, special,
    )
}  # fmt: skip
DTYPES = {"bf16": tl.bfloat16, "e4m3": tl.float8e4nv, "e5m2": tl.float8e5, "f16": tl.float16}


def launch_cast(repair, x, out, name):
    """`cast` needs a Triton type, which does not travel between processes."""
    return launch(repair, "cast", (x, out), {"DTYPE": DTYPES[name], "N": x.numel()})


def awkward(seed, count=SIZE):
    """bfloat16 values of every size, with zeros, infinities and NaN."""
    generator = torch.Generator().manual_seed(seed)
    x = torch.randn(count, generator=generator) * torch.exp2(torch.randint(-20, 20, (count,), generator=generator))
    x[:6] = torch.tensor([0.0, -0.0, float("inf"), -float("inf"), float("nan"), 1.0])
    return x.bfloat16()
