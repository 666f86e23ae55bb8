"""Candidates: the space of tunables and the points in it."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kernelwright.records.candidate import Candidate, Define, Tunable

OPEN = Candidate(
    language="cpp",
    source="x",
    tunables=(Tunable(name="BLOCK", values=(64, 128)), Tunable(name="UNROLL", values=(1, 2, 4))),
)


def test_points_are_every_combination_and_the_default_comes_first():
    points = list(OPEN.points())
    chosen = [tuple(d.value for d in p.defines) for p in points]
    assert chosen == [(64, 1), (64, 2), (64, 4), (128, 1), (128, 2), (128, 4)]
    assert all(p.tunables == () and [d.name for d in p.defines] == ["BLOCK", "UNROLL"] for p in points)
    assert len({p.id for p in points}) == 6


def test_a_closed_candidate_is_its_only_point():
    closed = Candidate(language="cpp", source="x", defines=(Define(name="N", value=3),))
    assert list(closed.points()) == [closed] == [closed.point(0)]


def test_a_tunable_without_values_leaves_nothing_to_try():
    assert list(OPEN.model_copy(update={"tunables": (Tunable(name="N", values=()),)}).points()) == []


@settings(max_examples=30, derandomize=True, database=None)
@given(st.lists(st.lists(st.integers(), min_size=1, max_size=3, unique=True), min_size=1, max_size=3))
def test_there_are_as_many_points_as_the_product_says(values):
    tunables = tuple(Tunable(name=f"T{i}", values=tuple(v)) for i, v in enumerate(values))
    candidate = Candidate(language="cpp", source="x", tunables=tunables)
    points = list(candidate.points())
    assert [candidate.point(index) for index in range(len(points))] == points
    product = 1
    for v in values:
        product *= len(v)
    assert len(points) == len({p.id for p in points}) == product


def test_fixing_a_point_changes_the_id_even_after_it_was_read():
    before = OPEN.id
    assert OPEN.at((Define(name="BLOCK", value=64),)).id != before
    assert OPEN.id == before


@pytest.mark.parametrize(("language", "suffix"), [("cpp", ".cpp"), ("triton", ".py")])
def test_each_language_has_its_file_ending(language, suffix):
    assert Candidate(language=language, source="").suffix == suffix
