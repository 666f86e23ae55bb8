"""Speedups of workloads come to one figure by weight; the worst and the protected that are slower are found."""

import math

import pytest

from kernelwright.records.across import mean, place, slower_protected, worst
from kernelwright.records.evaluation import Incorrect, WorkloadResult
from kernelwright.records.reasons import reason_of
from kernelwright.records.workloads import WorkloadPoint
from kernelwright.testing.samples import sample_measured


def row(speedup, weight=1.0, protected=False, n=1):
    point = WorkloadPoint(name="w", axes={"n": n}, weight=weight, protected=protected)
    return WorkloadResult(point=point, evaluation=sample_measured(speedup))


def test_the_mean_is_geometric_by_weight_and_what_has_no_weight_does_not_count():
    assert mean([row(2.0), row(0.5), row(9.0, weight=0)], "eager").median == pytest.approx(1.0)
    assert mean([row(4.0, weight=3), row(1.0)], "eager").median == pytest.approx(4**0.75)


def test_one_workload_keeps_its_interval_and_several_narrow_it():
    one, four = mean([row(2.0)], "eager"), mean([row(2.0)] * 4, "eager")
    assert (one.low, one.high) == pytest.approx((1.96, 2.04))
    assert math.log(four.high / four.median) == pytest.approx(math.log(one.high / one.median) / 2)


def test_there_is_no_mean_without_a_comparison():
    assert mean([], "eager") is None
    assert mean([row(2.0)], "graph") is None


def test_the_worst_and_the_protected_that_are_slower():
    rows = [row(0.9, n=1), row(0.5, protected=True, n=2), row(0.7, protected=True, n=3), row(3.0, protected=True, n=4)]
    assert worst(rows, "eager")[0].point.axes == {"n": 2}
    assert [found.point.axes["n"] for found, _ in slower_protected(rows, "eager")] == [2, 3]


def test_why_a_kernel_is_wrong_says_where():
    wrong = Incorrect(because="value", case="as given", evidence="output 0 is off")
    at = WorkloadPoint(name="one", axes={"rows": 1, "columns": 7})
    found = wrong.model_copy(update={"workloads": (WorkloadResult(point=at, drawn=True, evaluation=wrong),)})
    assert place(wrong) == "" and place(found) == "rows=1, columns=7"
    assert reason_of(found) == "at rows=1, columns=7: output 0 is off (case as given)"
