"""Curves of a bench: the best so far, never below eager, carried on where a cell ended early."""

import math

import pytest
import samples_of_bench as made

from kernelwright.bench.summary import curves, stairs


def points(found, axis):
    return {p.spent: p.speedup for curve in found if curve.axis == axis for p in curve.points}


def test_a_staircase_begins_with_eager_and_never_falls_below_it():
    where, heights = stairs(made.cell(search=(None, 0.5, 2.0, 1.5, 3.0)), lambda n, step: n + 1.0)
    assert where == [0.0, 2.0, 3.0, 5.0]
    assert heights == pytest.approx([0.0, 0.0, math.log(2.0), math.log(3.0)])


def test_a_surer_attempt_that_is_slower_does_not_take_the_place_of_the_best():
    fast, sure = made.step(0, 2.0), made.step(1, 1.9)
    fast = fast.model_copy(update={"eager": fast.eager.model_copy(update={"low": 1.5})})
    found = made.cell(search=(2.0,)).model_copy(update={"steps": (fast, sure)})
    assert stairs(found, lambda n, step: n + 1.0)[1] == pytest.approx([0.0, math.log(2.0)])


def test_the_curve_is_the_geometric_mean_over_tasks():
    found = curves([made.cell("a", 4.0, (None, 4.0)), made.cell("b", None, (None, None))])
    assert points(found, "proposals") == pytest.approx({0.0: 1.0, 1.0: 1.0, 2.0: 2.0})


def test_a_cell_that_ended_early_keeps_its_last_step():
    found = curves([made.cell("a", 4.0, (4.0,)), made.cell("b", 4.0, (None, None, 4.0))])
    assert points(found, "proposals") == pytest.approx({0.0: 1.0, 1.0: 2.0, 2.0: 2.0, 3.0: 4.0})


def test_device_seconds_end_at_the_longest_cell():
    found = curves([made.cell("a", 4.0, (4.0, 4.0, 4.0))])
    last = next(curve.points[-1] for curve in found if curve.axis == "device seconds")
    assert (last.spent, last.speedup) == (6.0, pytest.approx(4.0))


def test_what_did_not_end_and_what_was_not_timed_have_no_curve():
    assert curves([made.cell("a", 4.0, (4.0,), status="pending")]) == ()
    assert curves([made.cell("a", None, (None,))]) == ()


def test_tokens_have_an_axis_only_where_there_were_any():
    bare = made.cell("a", 2.0, (2.0, 2.0))
    talked = bare.model_copy(update={"tokens": 200, "steps": tuple(made.step(n, 2.0, tokens=100) for n in range(2))})
    assert {c.axis for c in curves([bare])} == {"proposals", "device seconds"}
    assert max(points(curves([talked]), "tokens")) == 200.0
