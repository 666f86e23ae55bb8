"""Masked loads without `other`: a result that depends on what they leave undefined is refused, and says by which load."""

import pytest
import torch
from judged_calls import judged
from racing_kernels import kernel
from triton_candidates import ADD, MATMUL

HOST = """
rows, n = x.shape
out = torch.empty({shape}, dtype={dtype})
kernel[(rows,)](x, out, x, n, B=triton.next_power_of_2(n))
return out
"""
ROWS = HOST.format(shape="rows", dtype="torch.float32")
WHOLE = HOST.format(shape="(rows, n)", dtype="x.dtype")
LOAD = "at = tl.arange(0, B)\nv = tl.load(x + p * n + at, mask=at < n)\n"


@pytest.mark.parametrize(
    ("body", "host"),
    [
        ("tl.store(out + p, tl.max(tl.abs(v), axis=0))", ROWS),
        ("tl.store(out + p, tl.max(v, axis=0))", ROWS),
        ("tl.store(out + p, tl.min(v, axis=0))", ROWS),
        ("tl.store(out + p, tl.sum(v, axis=0))", ROWS),
        ("tl.store(out + p, tl.sum((v > 0).to(tl.float32), axis=0))", ROWS),
        ("tl.store(out + p, tl.sum(tl.where(v < 1, 0.0, 1.0), axis=0))", ROWS),
        ("w = tl.load(x + at, mask=at < n, other=0.0)\ntl.store(out + p, tl.sum(v * w, axis=0))", ROWS),
        ("tl.store(out + p * n + at, tl.cumsum(v, axis=0, reverse=True), mask=at < n)", WHOLE),
        ("tl.store(out + p * n + at, tl.sort(v), mask=at < n)", WHOLE),
    ],
)
@pytest.mark.parametrize("columns", [200, 31])
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_what_depends_on_undefined_lanes_names_the_load(repaired, body, host, columns, dtype):
    error, log = repaired(judged, kernel(LOAD + body, host), torch.randn(3, columns).to(dtype))
    assert error == "fault undefined_lanes", log
    assert "depends on lanes that a masked load left undefined: v = tl.load(x + p * n + at, mask=at < n) (line" in log


@pytest.mark.parametrize("dtype", [torch.int32, torch.int64, torch.uint8])
def test_integers_too(repaired, dtype):
    x = torch.randint(1, 9, (3, 100)).to(dtype)
    for reduction in ("max", "min", "sum"):
        error, log = repaired(judged, kernel(LOAD + f"tl.store(out + p, tl.{reduction}(v, axis=0))", ROWS), x)
        assert error == "fault undefined_lanes", (reduction, log)


def test_a_loop_that_ends_by_such_a_lane(repaired):
    body = (
        LOAD
        + "total = 0\nfor i in range(0, tl.max(v, axis=0)):\n    total += tl.load(x + p * n)\ntl.store(out + p, total)"
    )
    error, log = repaired(judged, kernel(body, ROWS), torch.randint(1, 9, (3, 100)))
    assert error == "fault undefined_lanes", log


def test_block_pointers_without_padding(repaired):
    load = (
        "block = tl.make_block_ptr(x, (n,), (1,), (0,), (B,), (0,))\n"
        "v = tl.load(block, boundary_check=(0,){})\ntl.store(out + p, tl.sum(v, axis=0))"
    )
    x = torch.randn(1, 100)
    assert repaired(judged, kernel(load.format(""), ROWS), x)[0] == "fault undefined_lanes"
    assert repaired(judged, kernel(load.format(", padding_option='zero'"), ROWS), x) == ("", "")


@pytest.mark.parametrize(
    "body",
    [
        "tl.store(out + p * n + at, v * 2.0, mask=at < n)",
        "tl.store(out + p * n + at, v - tl.sum(tl.where(at < n, v, 0.0), axis=0), mask=at < n)",
        "u = tl.where(at < n, v, float('-inf'))\ntl.store(out + p * n + at, tl.exp(v - tl.max(u, axis=0)), mask=at < n)",
    ],
)
def test_lanes_that_are_left_out_later_may_be_undefined(repaired, body):
    assert repaired(judged, kernel(LOAD + body, WHOLE), torch.randn(3, 20000)) == ("", "")


def test_positions_that_are_masked_again(repaired):
    body = (
        "at = tl.arange(0, B)\ni = tl.load(x + p * n + at, mask=at < n)\n"
        "tl.store(out + p * n + at, tl.load(x + i, mask=at < n), mask=at < n)"
    )
    assert repaired(judged, kernel(body, WHOLE), torch.randint(0, 100, (3, 100))) == ("", "")
    error, _ = repaired(judged, kernel(body.replace("x + i, mask=at < n", "x + i"), WHOLE), torch.zeros(3, 100).long())
    assert error == "fault undefined_lanes"


def test_only_the_load_in_question_is_named(repaired):
    body = LOAD + "w = tl.load(x + at, mask=at < n)\ntl.store(out + p * n + at, v + tl.sum(w, axis=0), mask=at < n)"
    error, log = repaired(judged, kernel(body, WHOLE), torch.randn(3, 100))
    assert error == "fault undefined_lanes"
    assert "w = tl.load" in log
    assert "v = tl.load" not in log


def test_rows_and_columns_of_tiles(repaired):
    """A row of a product's left side that is undefined spoils that row alone."""
    assert repaired(judged, ADD, torch.randn(3000), torch.randn(3000)) == ("", "")
    rows = MATMUL.replace("mask=(rows[:, None] < m) & (inner[None, :] < k), other=0.0", "mask=rows[:, None] < m")
    sizes = (torch.randn(67, 64), torch.randn(64, 33))
    assert rows != MATMUL
    assert repaired(judged, rows, *sizes) == ("", "")
    inner = MATMUL.replace("(inner[None, :] < k), other=0.0", "(inner[None, :] < k)")
    assert repaired(judged, inner, torch.randn(67, 60), torch.randn(60, 33))[0] == "fault undefined_lanes"


def test_inputs_with_nan_are_neither_written_to_nor_undefined(repaired):
    x = torch.randn(3, 100)
    x[0, 3] = float("nan")
    assert repaired(judged, kernel(LOAD + "tl.store(out + p * n + at, v * 2.0, mask=at < n)", WHOLE), x) == ("", "")


@pytest.mark.parametrize("columns", [100, 20_000])
def test_memory_that_is_never_written_is_no_lane_of_a_load(repaired, columns):
    """What an earlier call has left in new memory is another thing each time, here in turn: nothing says it of a load."""
    left = "torch.turn = getattr(torch, 'turn', 0) + 1\ntorch.full(x.shape, float(torch.turn % 2))\n"
    body = LOAD + "tl.store(out + p * n + at, v * 2.0, mask=at < n - 1)"
    assert repaired(judged, kernel(body, left + WHOLE), torch.randn(3, columns)) == ("", "")
