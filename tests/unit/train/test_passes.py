"""pass@k follows its formula, with an interval around it."""

import pytest

from kernelwright.train.passes import interval, pass_rate


def test_the_estimator_is_the_chance_to_draw_a_right_sample():
    right = [[True, False, False, False], [False] * 4]
    assert pass_rate(right, 1).rate == pytest.approx(0.125)
    assert pass_rate(right, 2).rate == pytest.approx(0.25)
    assert pass_rate(right, 4).rate == pytest.approx(0.5)


def test_the_interval_holds_the_rate_and_narrows_with_more_tasks():
    few = pass_rate([[True, False]] * 2 + [[False, False]] * 2, 1)
    many = pass_rate([[True, False]] * 40 + [[False, False]] * 40, 1)
    assert few.low <= few.rate <= few.high
    assert many.high - many.low < few.high - few.low
    assert (many.tasks, many.samples) == (80, 2)


def test_the_interval_of_differences_task_by_task_is_narrower_than_that_of_either_rate():
    before = [0.0, 1.0] * 20
    after = [min(1.0, one + 0.1) for one in before]
    low, high = interval([b - a for a, b in zip(before, after, strict=True)])
    assert 0.0 < low <= 0.05 <= high < 0.1
    assert high - low < interval(before)[1] - interval(before)[0]
