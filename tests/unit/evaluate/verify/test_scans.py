"""Running sums: one by one they pass, as they pass in blocks; accumulated in half precision they do not."""

import pytest
import torch

from kernelwright.evaluate.verify.compare import (
    LONGEST_SCAN,
    SERIAL,
    Expected,
    floor,
    judge,
    longest_scan,
    scale_of,
)
from kernelwright.records.graph import Argument, OpGraph, OpNode, Ref
from kernelwright.records.tensor import EPSILON, TensorSpec

ROWS, LENGTH = 16, 777


def tensor(name, *shape):
    return TensorSpec(name=name, shape=shape, dtype="float32")


def node(name, op, shape, reads, dim=None):
    arguments = [Argument(name="self", value=Ref(ref=reads))]
    if dim is not None:
        arguments.append(Argument(name="dim", value=dim))
    return OpNode(name=name, op=op, arguments=tuple(arguments), result=(tensor(name, *shape),), bytes=0, flops=0)


def serial(x, dtype=torch.float32):
    """One after the other, each partial sum rounded to `dtype`."""
    total, out = torch.zeros(len(x), dtype=dtype), torch.empty_like(x)
    for i, column in enumerate(x.unbind(1)):
        total = (total.float() + column).to(dtype)
        out[:, i] = total
    return out


def in_blocks(x, size=37):
    sums = torch.cat([serial(block) for block in x.split(size, dim=1)], dim=1)
    before = torch.nn.functional.pad(serial(sums[:, size - 1 :: size].contiguous()), (1, 0))
    return sums + before.repeat_interleave(size, dim=1)[:, : x.shape[1]]


def judged(x, got):
    wanted = x.double().cumsum(1)
    allowed = floor(tensor("out", *x.shape), x.shape[1], x.shape[1])
    return judge(got, Expected(wanted, scale_of(wanted), 0.0, allowed))[1]


@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize("factor", [0.01, 1.0, -3.0])
def test_an_honest_running_sum_passes_however_it_is_done(seed, factor):
    x = factor * torch.randn(ROWS, LENGTH, generator=torch.Generator().manual_seed(seed))
    assert judged(x, serial(x)) is None
    assert judged(x, in_blocks(x)) is None


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
@pytest.mark.parametrize("length", [64, LENGTH, 5000])
def test_a_running_sum_in_half_precision_is_refused(dtype, length):
    x = torch.randn(ROWS, length, generator=torch.Generator().manual_seed(1))
    assert judged(x, serial(x, dtype)) is not None
    assert judged(x, serial(x.to(dtype).float())) is not None


def test_the_floor_of_a_scan_grows_with_the_root_up_to_half_precision():
    spec, eps = tensor("out", 4), EPSILON["float32"]
    assert floor(spec, 1024, 0) == floor(spec, 1024)
    assert floor(spec, 4, 4) == pytest.approx(4 * eps + SERIAL * 2 * eps)
    assert floor(spec, 1 << 18, 1 << 18) == pytest.approx(4 * eps + SERIAL * 512 * eps)
    assert floor(spec, 1 << 30, 1 << 30) == floor(spec, 1 << 30, LONGEST_SCAN) < 2.0**-10


X = tensor("x", 8, 32)


@pytest.mark.parametrize(
    ("nodes", "scanned"),
    [
        ([node("a", "aten.sum.dim_IntList", (8,), "x", 1)], 0),
        ([node("a", "aten.cumsum.default", (8, 32), "x", 1)], 32),
        ([node("a", "aten.cumsum.default", (8, 32), "x", 0)], 8),
        ([node("a", "aten.cumprod.default", (8, 32), "x", -2), node("b", "aten.abs.default", (8, 32), "a")], 8),
        # A scan that this output does not depend on loosens nothing.
        ([node("a", "aten.cumsum.default", (8, 32), "x", 1), node("b", "aten.abs.default", (8, 32), "x")], 0),
    ],
)
def test_the_longest_scan_is_that_behind_the_output(nodes, scanned):
    graph = OpGraph(inputs=("x",), parameters=(), nodes=tuple(nodes), outputs=(nodes[-1].name,))
    assert longest_scan(graph, 0, [X]) == scanned
    assert longest_scan(graph, 1, [X]) == 0
