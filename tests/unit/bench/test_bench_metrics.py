"""Metrics of a bench: hand-made cells with answers that can be worked out on paper."""

import itertools
import math
import random

import pytest
import samples_of_bench as made

from kernelwright.bench.metrics import (
    correctness,
    estimate_pass,
    fast_p,
    figures,
    mean_speedup,
    over_tasks,
    pass_at,
    share_of_tasks,
    solved_at,
)
from kernelwright.bench.summary import stairs
from kernelwright.records.measure import Ratio


def test_correctness_weighs_tasks_alike_whatever_their_seeds():
    cells = [made.cell("a", 2.0, seed=s) for s in range(3)] + [made.cell("b")]
    assert correctness(cells).value == 0.5
    assert correctness(cells).tasks == 2


def test_fast_p_is_right_and_strictly_faster():
    cells = [made.cell("a", 2.0, compiled=0.9), made.cell("b", 1.0, compiled=0.4), made.cell("c"), made.cell("d", 0.6)]
    eager = [fast_p(cells, "eager", p).value for p in (0.0, 0.5, 1.0, 1.5, 2.0)]
    assert eager == [0.75, 0.75, 0.25, 0.25, 0.0]


def test_fast_p_is_a_share_of_all_tasks_whatever_is_known_of_them():
    cells = [made.cell("a", 2.0, compiled=0.9), made.cell("c"), made.cell("d", 0.6)]
    found = fast_p(cells, "compile", 0.5)
    assert (found.value, found.tasks) == (pytest.approx(1 / 3), 3)


def test_where_nothing_was_timed_nothing_is_said_of_speed():
    cells = [made.cell("a", correct=True), made.cell("b")]
    assert fast_p(cells, "eager", 0.0).value == 0.5
    assert fast_p(cells, "eager", 1.0) is None
    assert mean_speedup(cells, "eager", "all", {}) is None


@pytest.mark.parametrize(("n", "c", "k"), [(5, 2, 1), (5, 2, 3), (5, 0, 2), (5, 5, 5), (6, 1, 6), (4, 3, 2)])
def test_pass_at_k_is_the_share_of_draws_that_hold_a_right_one(n, c, k):
    draws = list(itertools.combinations([True] * c + [False] * (n - c), k))
    assert estimate_pass(n, c, k) == pytest.approx(sum(any(d) for d in draws) / len(draws))


def test_pass_at_each_k_is_over_the_cells_with_as_many_attempts_and_an_empty_one_is_failed():
    cells = [made.cell("a", search=(None, 2.0, None, None)), made.cell("b", search=(2.0, None)), made.cell("c")]
    found = {at.k: at.share.value for at in pass_at(cells)}
    assert found == pytest.approx({1: (0.25 + 0.5 + 0) / 3, 2: (0.5 + 1 + 0) / 3, 4: (1 + 0) / 2})
    assert {at.k: at.cells for at in pass_at(cells)} == {1: 3, 2: 3, 4: 2}


def test_solved_at_k_looks_at_the_order():
    cells = [made.cell("a", search=(None, 2.0, None)), made.cell("b", search=(None, None, None))]
    assert {at.k: at.share.value for at in solved_at(cells)} == {1: 0.0, 2: 0.5, 3: 0.5}


def test_only_independent_attempts_have_a_pass_at_k():
    cells = [made.cell("a", 2.0, (2.0,))]
    assert figures(cells, {}, independent=False).pass_at == ()
    assert figures(cells, {}, independent=True).pass_at != ()


def test_the_mean_over_solved_and_over_all_differ_by_what_failed():
    cells = [made.cell("a", 4.0), made.cell("b")]
    assert mean_speedup(cells, "eager", "solved", {}).value == pytest.approx(4.0)
    assert mean_speedup(cells, "eager", "all", {}).value == pytest.approx(2.0)


def test_over_all_tasks_a_slower_kernel_is_worth_no_less_than_none_and_its_loss_is_seen_beside_it():
    slow = [made.cell(name, 0.5) for name in "abcd"]
    nothing = [made.cell(name) for name in "abcd"]
    assert mean_speedup(slow, "eager", "all", {}).value == mean_speedup(nothing, "eager", "all", {}).value == 1.0
    assert mean_speedup(slow, "eager", "solved", {}).value == pytest.approx(0.5)
    assert mean_speedup([made.cell("a", 4.0), made.cell("b", 0.25)], "eager", "all", {}).value == pytest.approx(2.0)


def test_seeds_are_averaged_within_their_task_first():
    cells = [made.cell("a", s, seed=n) for n, s in enumerate((1.0, 4.0))] + [made.cell("b", 8.0)]
    assert mean_speedup(cells, "eager", "solved", {}).value == pytest.approx(math.sqrt(2.0 * 8.0))


def test_over_naive_is_a_ratio_of_speedups_over_eager():
    cells = [made.cell("a", 4.0), made.cell("b", 9.0), made.cell("c")]
    found = mean_speedup(cells, "naive", "solved", {"a": 0.5})
    assert (found.value, found.tasks) == (pytest.approx(8.0), 1)
    assert mean_speedup(cells, "naive", "all", {"a": 0.5, "c": 0.5}).value == pytest.approx(math.sqrt(8.0))


def test_who_failed_has_not_solved_and_of_what_is_not_settled_nothing_is_known():
    statuses = ("done", "gave_up", "not_admitted", "no_answer", "broken", "unpaid", "pending")
    cells = [made.cell(status, 2.0 if status == "done" else None, status=status) for status in statuses]
    found = figures(cells, {}, independent=False)
    assert (found.cells, found.missing, found.correct.value) == (4, 3, 0.25)
    assert found.speedups[1].mean.value == pytest.approx(2.0**0.25)


def test_intervals_hold_the_mean_repeat_exactly_and_shrink_with_tasks():
    few = {str(n): [float(n % 2)] for n in range(6)}
    many = {str(n): [float(n % 2)] for n in range(60)}
    small, large = over_tasks(few), over_tasks(many)
    assert small.low < small.value < small.high
    assert over_tasks(few) == small
    assert large.high - large.low < small.high - small.low


@pytest.mark.parametrize("samples", [{"a": [3.0]}, {"a": [1.0, 2.0, 3.0], "b": [2.0]}, {key: [1.0] for key in "abcd"}])
def test_too_few_tasks_and_tasks_that_are_all_alike_have_no_interval(samples):
    found = over_tasks(samples)
    assert (found.low, found.high) == (None, None)


def test_nothing_has_no_mean():
    assert over_tasks({"a": []}) is None
    assert share_of_tasks({}) is None


def test_a_share_of_all_tasks_is_not_certain_to_be_all():
    found = share_of_tasks({str(n): [1.0] for n in range(7)})
    assert (found.value, found.high) == (1.0, 1.0)
    assert found.low == pytest.approx(0.6457, abs=1e-4)
    half = share_of_tasks({str(n): [float(n % 2)] for n in range(10)})
    assert (half.low, half.high) == pytest.approx((0.2366, 0.7634), abs=1e-4)
    assert share_of_tasks({"a": [1.0], "b": [0.0]}).low is None


def test_intervals_cover_the_truth_about_as_often_as_they_say():
    rng = random.Random(7)
    hits = 0
    for _ in range(120):
        found = over_tasks({str(n): [rng.gauss(0.0, 1.0)] for n in range(30)})
        hits += found.low <= 0.0 <= found.high
    assert 0.87 <= hits / 120 <= 1.0


def test_a_blurred_figure_is_in_no_mean_no_count_and_no_curve():
    wide = Ratio(median=9.54, low=0.36, high=11.1, confidence=0.99)
    sharp, vague = made.cell("a", 2.0), made.cell("b", 2.0, (2.0,)).model_copy(update={"eager": wide})
    assert mean_speedup([sharp, vague], "eager", "solved", {}).value == pytest.approx(2.0)
    assert mean_speedup([sharp, vague], "eager", "solved", {}).tasks == 1
    assert fast_p([sharp, vague], "eager", 1.0).value == 0.5
    vague = vague.model_copy(update={"steps": (vague.steps[0].model_copy(update={"eager": wide}),)})
    assert stairs(vague, lambda number, step: number + 1.0) == ([0.0], [0.0])
