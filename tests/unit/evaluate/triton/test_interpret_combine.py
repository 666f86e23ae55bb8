"""Reductions and scans by a function of the kernel's own: right, in a few calls, and element by element where it branches."""

import pytest
import torch
from triton_candidates import NO_TASK, candidate

from kernelwright.evaluate.triton.combine import halved, swept
from kernelwright.evaluate.triton.interpret import Arguments, interpret

SOURCE = """
import torch
import triton
import triton.language as tl

calls = []

@triton.jit
def larger(value, place, other, where):
    first = (value > other) | ((value == other) & (place < where))
    return tl.where(first, value, other), tl.where(first, place, where)

@triton.jit
def branching(left, right):
    if left > right:
        return left
    return right

@triton.jit
def after(a, b, c, d):
    return a * c, b * c + d

@triton.jit
def add(left, right):
    return left + right

@triton.jit
def kernel(x, out, at, KIND: tl.constexpr, ROWS: tl.constexpr, COLS: tl.constexpr):
    place = tl.arange(0, ROWS)[:, None] * COLS + tl.arange(0, COLS)[None, :]
    value = tl.load(x + place)
    if KIND == "argmax":
        column = tl.arange(0, COLS)[None, :] + tl.zeros((ROWS, COLS), tl.int32)
        most, where = tl.reduce((value, column), 1, larger)
        tl.store(out + tl.arange(0, ROWS), most)
        tl.store(at + tl.arange(0, ROWS), where)
    elif KIND == "columns":
        tl.store(out + tl.arange(0, COLS)[None, :], tl.reduce(value, 0, add, keep_dims=True))
    elif KIND == "all":
        tl.store(out, tl.reduce(value, None, add))
    elif KIND == "branching":
        tl.store(out + tl.arange(0, ROWS), tl.reduce(value, 1, branching))
    elif KIND == "recurrence":
        decay, state = tl.associative_scan((tl.full((ROWS, COLS), 0.5, tl.float32), value), 1, after)
        tl.store(out + place, state)
    elif KIND == "reverse":
        tl.store(out + place, tl.associative_scan(value, 1, add_, reverse=True))

@triton.jit
def add_(left, right):
    return right + left

class ModelNew(torch.nn.Module):
    def forward(self, x):
        rows, cols = x.shape
        out = torch.zeros(SHAPES[KIND](rows, cols), dtype=x.dtype)
        at = torch.zeros(rows, dtype=torch.int32)
        kernel[(1,)](x, out, at, KIND=KIND, ROWS=rows, COLS=cols)
        return (out, at) if KIND == "argmax" else out

SHAPES = {
    "argmax": lambda r, c: (r,), "branching": lambda r, c: (r,), "columns": lambda r, c: (c,), "all": lambda r, c: (),
    "recurrence": lambda r, c: (r, c), "reverse": lambda r, c: (r, c),
}
"""


@pytest.fixture
def run(repaired):
    def call(kind, x):
        source = SOURCE + f"KIND = {kind!r}\n"
        return repaired(interpret, candidate(source), NO_TASK, Arguments([x], {}), "sm_90")

    return call


def test_several_operands_with_ties(run):
    x = torch.randint(0, 5, (4, 64)).float()
    most, at = run("argmax", x)
    assert torch.equal(most, x.amax(1))
    assert torch.equal(at.long(), (x == x.amax(1, keepdim=True)).int().argmax(1))


@pytest.mark.parametrize("dtype", [torch.float32, torch.float16, torch.bfloat16])
def test_an_axis_that_stays_and_all_axes(run, dtype):
    x = torch.randint(-3, 4, (8, 16)).to(dtype)
    assert torch.equal(run("columns", x)[0], x.float().sum(0).to(dtype))
    assert torch.equal(run("all", x)[0], x.float().sum().to(dtype))


def test_a_function_that_branches_gets_single_elements(run):
    x = torch.randn(4, 16)
    assert torch.equal(run("branching", x)[0], x.amax(1))


def test_a_scan_keeps_the_order_of_a_function_that_does_not_commute(run):
    x = torch.randn(2, 32)
    state, states = torch.zeros(2), []
    for column in x.T:
        state = state * 0.5 + column
        states.append(state)
    torch.testing.assert_close(run("recurrence", x)[0], torch.stack(states, 1))


def test_a_scan_from_the_end(run):
    x = torch.randint(-3, 4, (2, 16)).float()
    assert torch.equal(run("reverse", x)[0], x.flip(1).cumsum(1).flip(1))


def test_how_often_the_function_is_called():
    calls = []

    def add(first, second):
        calls.append(first[0].shape)
        return [first[0] + second[0]]

    tile = torch.arange(3 * 256.0).view(3, 256).numpy()
    assert halved([tile], 1, add)[0].tolist() == tile.sum(1, keepdims=True).tolist()
    assert len(calls) == 8
    calls.clear()
    assert swept([tile], 1, add)[0].tolist() == tile.cumsum(1).tolist()
    assert len(calls) == 8
