"""What only the full size shows, without memory for it: grids, bounds, offsets of 32 bits, what a grid does not reach."""

import pytest
import torch
from racing_kernels import kernel
from triton_candidates import ADD, HEAD, MATMUL, NO_TASK, SOFTMAX, TWO_STAGE_SUM, candidate

from kernelwright.evaluate.triton.cross import cross_compile
from kernelwright.evaluate.triton.fault import Fault
from kernelwright.evaluate.triton.unseen import examine
from kernelwright.knowledge.hardware import hardware
from kernelwright.records.task import Workload
from kernelwright.records.tensor import TensorSpec

ROWS = "out = torch.empty_like(x)\nkernel[{grid}](x, out, x, x.shape[1], B=triton.next_power_of_2(x.shape[1]))\nreturn out\n"
BODY = """
at = tl.arange(0, B)
row = tl.program_id(0){wide}
v = tl.load(x + row * n + at, mask=at < n, other=0.0)
tl.store(out + row * n + at, v, mask=at < n)
"""
CHOSEN = """
at = tl.arange(0, B)
half = n // 2
tl.store(out + p * n + at, tl.load(x + p * n + at, mask=at < half), mask=at < half)
if tl.load(work + p) == 7:
    tl.store(out + p * n + half + at, tl.load(x + p * n + half + at, mask=at < half), mask=at < half)
"""
STRIDED = """
for row in range(p, tl.load(work), tl.num_programs(0)):
    at = tl.arange(0, B)
    tl.store(out + row.to(tl.int64) * n + at, tl.load(x + row.to(tl.int64) * n + at, mask=at < n), mask=at < n)
"""


FLAT = "out = torch.empty_like(x)\nkernel[(triton.cdiv(x.numel(), 1024),)](x, out, x, x.numel(), B=1024)\nreturn out\n"
COLUMNS = "out = torch.empty_like(x)\nkernel[(x.shape[1],)](x, out, x, x.shape[0], B=4096)\nreturn out\n"
PAST = {
    "a flat index": (
        "tl.store(out + at, tl.load(x + at, mask=at < n) * 2.0, mask=at < n)",
        FLAT, ("= tl.program_id(0)", "= tl.program_id(0).to(tl.int64)"), (3 << 30,),
    ),
    "rows of columns": (
        "for start in range(0, n, B):\n    k = start + tl.arange(0, B)\n"
        "    place = (n - 1 - k) * tl.num_programs(0) + p\n"
        "    tl.store(out + place, tl.load(x + place, mask=k < n), mask=k < n)",
        COLUMNS, ("= start +", "= tl.cast(start, tl.int64) +"), (20_000, 200_000),
    ),
    "a block's first element": (
        "first = tl.num_programs(0) * n - (p + 1) * n\nk = tl.arange(0, B)\nv = tl.load(x + first + k, mask=k < n)\n"
        "tl.store(out + first + k, -v, mask=k < n)",
        ROWS.format(grid="(x.shape[0],)"), ("first = ", "n = n.to(tl.int64)\n    first = "), (2_500_000, 1000),
    ),
}  # fmt: skip
"""A kernel with offsets past 2^31, its host code, what gives them 64 bits, and the shape."""


def spec(*shape, dtype="float16"):
    return TensorSpec(name="x", shape=shape, dtype=dtype)


def shaped(*specs):
    named = tuple(s.model_copy(update={"name": f"x{i}"}) for i, s in enumerate(specs))
    return Workload(inputs=named, parameters=(), outputs=(named[0],))


def rows(grid="(x.shape[0],)", wide=""):
    return kernel(BODY.format(wide=wide), ROWS.format(grid=grid))


@pytest.fixture
def look(repaired):
    return lambda source, *specs: repaired(examine, candidate(source), NO_TASK, shaped(*specs), "sm_90")


@pytest.mark.parametrize("shape", [(600_000, 4096), (1_100_000, 2000)])
def test_offsets_of_32_bits_that_wrap(look, shape):
    fault = look(rows(), spec(*shape))
    assert fault.kind == "out_of_bounds"
    assert all(w in fault.log for w in ("at the task's full size", "wrapped", "'x'", "in kernel: v = tl.load")), (
        fault.log
    )
    assert isinstance(look(rows(wide=".to(tl.int64)"), spec(*shape)), str)


@pytest.mark.parametrize("name", PAST)
def test_other_offsets_that_wrap(look, name):
    body, host, wide, shape = PAST[name]
    fault = look(kernel(body, host), spec(*shape))
    assert isinstance(fault, Fault), fault
    assert (fault.kind, "wrapped" in fault.log) == ("out_of_bounds", True), fault.log
    found = look(kernel(body, host).replace(*wide), spec(*shape))
    assert isinstance(found, str), found.log


@pytest.mark.parametrize("grid", ["(min(x.shape[0], 65535),)", "(x.shape[0] - 1,)", "(x.shape[0] // 2 + 7,)"])
def test_a_grid_that_does_not_reach_the_end(look, grid):
    fault = look(rows(grid), spec(100_000, 64))
    assert fault.kind == "unwritten"
    assert "of 6400000 elements of result 0" in fault.log
    assert "128 bytes each" in fault.log


def test_lanes_out_of_bounds_at_full_size_alone(look):
    source = rows().replace("at < n", "at < n + row // 90000")
    assert isinstance(look(source, spec(64, 50)), str)
    assert look(source, spec(100_000, 50)).kind == "out_of_bounds"


@pytest.mark.parametrize(
    ("source", "specs"),
    [
        (ADD, (spec(1 << 28), spec(1 << 28))),
        (SOFTMAX, (spec(100_000, 1000),)),
        (MATMUL, (spec(8192, 1024), spec(1024, 8192))),
        (TWO_STAGE_SUM, (spec(1 << 22, dtype="float32"),)),
        (rows("(x.shape[0], 1, 1)"), (spec(70_000, 64),)),
    ],
)
def test_right_ones_are_looked_at_and_left_alone(look, source, specs):
    found = look(source, *specs)
    assert isinstance(found, str), found.log
    assert found.startswith("at full size some programs"), found


def test_where_values_decide_nothing_is_said(look):
    """A kernel that takes its positions, or the end of its loop, from memory; results that PyTorch has filled."""
    gather = "i = tl.load(work + p)\ntl.store(out + i - 1, tl.load(x + p))"
    host = "out = torch.empty_like(x)\nkernel[(x.numel(),)](x, out, y, x.numel(), B=64)\nreturn out\n"
    taken = kernel(gather, host).replace("forward(self, x)", "forward(self, x, y)")
    found = look(taken, spec(1 << 20), spec(1 << 20, dtype="int64"))
    assert "depends on values" in found
    host = "out = torch.empty_like(x)\nkernel[(x.shape[0],)](x, out, y, x.shape[1], B=64)\nreturn out\n"
    chosen = kernel(CHOSEN, host).replace("forward(self, x)", "forward(self, x, y)")
    assert isinstance(look(chosen, spec(100_000, 64), spec(100_000, dtype="int32")), str)
    filled = rows("(65535,)").replace("torch.empty_like", "torch.zeros_like")
    assert isinstance(look(filled, spec(100_000, 64)), str)
    copied = rows("(65535,)").replace("out = torch.empty_like(x)", "out = torch.empty_like(x); out.copy_(x)")
    assert isinstance(look(copied, spec(100_000, 64)), str)
    counted = kernel(STRIDED, "out = torch.empty_like(x)\nkernel[(132,)](x, out, y, 64, B=64)\nreturn out\n")
    counted = counted.replace("forward(self, x)", "forward(self, x, y)")
    assert isinstance(look(counted, spec(100_000, 64), spec(1, dtype="int32")), str)
    assert "no_such" in look(
        HEAD + "class ModelNew(torch.nn.Module):\n    def forward(self, x):\n        no_such()\n", spec(9)
    )


@pytest.mark.parametrize(("grid", "axis"), [("(1, x.shape[0])", "y"), ("(1, 1, x.shape[0])", "z"), ("(2**31,)", "x")])
def test_grids_beyond_the_device_s_are_no_build(grid, axis):
    source = rows(grid).replace("tl.program_id(0)", f"tl.program_id({'xyz'.index(axis)})")
    fault = cross_compile(candidate(source), NO_TASK, shaped(spec(100_000, 64)), "sm_90")
    assert fault.kind == "build"
    assert f"blocks along {axis}" in fault.log
    assert "in forward: kernel" in fault.log


def test_what_a_device_takes():
    device = hardware("sm_90")
    assert device.too_many_blocks("k", (2**31 - 1, 65535, 65535)) == ""
    assert "k is launched with a grid of [1, 65536, 1]" in device.too_many_blocks("k", (1, 65536, 1))
    assert torch.cuda.is_available() or device.grid[0] == 2**31 - 1
