"""Sizes between workloads and beyond: of every kind, within ranges, steps, constraints and room, and never a workload's."""

import math
import random

import pytest

from kernelwright.records.workloads import Axis, WorkloadPoint, WorkloadSet
from kernelwright.tasks.drawn_sizes import KINDS, MANY, ROOM, drawn_points

ROWS, COLUMNS = Axis(name="rows", low=0, declared=False), Axis(name="columns", low=8, high=4096, step=8)
POINTS = tuple(WorkloadPoint(name="w", axes={"rows": r, "columns": c}) for r, c in ((4, 4096), (4096, 512), (300, 64)))
SET = WorkloadSet(axes=(ROWS, COLUMNS), points=POINTS)


def test_every_kind_comes_within_ranges_steps_and_room():
    found = [p for seed in range(40) for p in drawn_points(SET, 9, random.Random(seed))]
    assert {p.name for p in found} == set(KINDS)
    largest = max(math.prod(p.axes.values()) for p in POINTS)
    for point in found:
        room = ROOM * largest * (MANY if point.name == "many" else 1)
        assert SET.allows(point.axes) and math.prod(max(1, size) for size in point.axes.values()) <= room
    assert not any(p.axes == known.axes for p in found for known in POINTS)
    assert any(p.axes["rows"] > 65_535 for p in found) and any(p.axes["rows"] == 0 for p in found)
    assert not any(p.weight or p.protected for p in found)


def test_as_many_as_were_asked_for_and_no_two_alike():
    found = drawn_points(SET, 9, random.Random(3))
    assert len({tuple(p.axes.values()) for p in found}) == len(found) == 9


def test_the_same_seed_draws_the_same_and_another_others():
    assert drawn_points(SET, 5, random.Random(1)) == drawn_points(SET, 5, random.Random(1))
    assert drawn_points(SET, 5, random.Random(1)) != drawn_points(SET, 5, random.Random(2))


def test_constraints_hold():
    heads, groups = Axis(name="heads", high=64), Axis(name="groups", high=8)
    points = (WorkloadPoint(name="w", axes={"heads": 32, "groups": 8}),)
    tied = WorkloadSet(axes=(heads, groups), points=points, constraints=("heads % groups == 0", "heads >= groups"))
    found = [p.axes for seed in range(9) for p in drawn_points(tied, 5, random.Random(seed))]
    assert found and all(a["heads"] % a["groups"] == 0 and a["heads"] >= a["groups"] for a in found)


@pytest.mark.parametrize(
    "workloads",
    [
        WorkloadSet(axes=(Axis(name="n", low=4, high=4),), points=(WorkloadPoint(name="w", axes={}),)),
        WorkloadSet(axes=(ROWS,), points=(WorkloadPoint(name="w", axes={"rows": 4}, fixed=True),)),
    ],
)
def test_nothing_is_drawn_where_nothing_varies_or_inputs_lie_in_a_file(workloads):
    assert drawn_points(workloads, 9, random.Random(0)) == []


FAILS = {
    "the tail of a vector": lambda rows, columns: rows and columns % 8,
    "65,536 blocks": lambda rows, columns: rows > 65_536 and columns,
    "an odd number of rows": lambda rows, columns: rows % 2 and columns,
    "nothing": lambda rows, columns: rows == 0 or columns == 0,
    "one row": lambda rows, columns: rows == 1 and columns,
    "one column": lambda rows, columns: columns == 1 and rows,
    "more columns than any workload": lambda rows, columns: columns > 1024 and rows,
    "what is no workload": lambda rows, columns: columns % 64 and rows,
}
"""Where kernels go wrong that are right on the workloads, as those of `tests/system/test_wrong_at_other_sizes.py` do."""


@pytest.mark.parametrize("kind", FAILS)
def test_each_final_draws_a_size_at_which_a_kernel_of_this_kind_fails(kind):
    axes = tuple(Axis(name=name, low=0, declared=False) for name in ("rows", "columns"))
    sizes = ((64, 256), (128, 1024), (2048, 64))
    points = tuple(WorkloadPoint(name="w", axes={"rows": rows, "columns": columns}) for rows, columns in sizes)
    assert not any(FAILS[kind](*pair) for pair in sizes)
    for seed in range(100):
        found = drawn_points(WorkloadSet(axes=axes, points=points), 2 * len(KINDS), random.Random(seed))
        assert any(FAILS[kind](*point.axes.values()) for point in found), seed
