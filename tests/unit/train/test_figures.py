"""The figures of a training step, pass@k with its interval, and what was gained."""

import pytest

from kernelwright.train.environment import Step
from kernelwright.train.figures import figures, gained, interval, pass_rate, spread, waited
from kernelwright.train.recipe import Progress


def judged(outcome, reward, speedup=None, hack=""):
    right = outcome == "measured" and not hack
    info = {"outcome": outcome, "right": right, "parsed": outcome != "no_kernel", "hack": hack, "speedup": speedup}
    return Step((), reward, terminated=False, truncated=True, info=info)


def test_shares_are_of_the_replies_whose_verdict_is_known():
    steps = [
        judged("measured", 1.3, 4.0),
        judged("measured", 0.3, 1.0),
        judged("timed_out", 0.0),
        judged("suspect", 0.0, hack="tampering"),
        judged("no_kernel", 0.0),
        Step((), None, terminated=False, truncated=True),
    ]
    told = figures(steps)
    assert (told["right"], told["timed out"], told["hacks"], told["parsed"]) == (0.4, 0.2, 0.2, 0.8)
    assert told["reward"] == pytest.approx(0.32)
    assert told["speedup"] == pytest.approx(2.0), "the geometric mean of those that are right"
    assert told["unjudged"] == pytest.approx(1 / 6)


def test_a_step_of_which_nothing_is_known_has_no_shares():
    assert figures([Step((), None, terminated=False, truncated=True)]) == {"unjudged": 1.0}


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


def test_the_share_of_waiting_is_of_the_whole_step():
    figures = [
        {"waited seconds": 2.0, "step seconds": 8.0},
        {"step seconds": 3.0},
        {"waited seconds": 1.0, "step seconds": 4.0},
    ]
    assert waited([Progress(step=n, of=3, seconds=0.0, figures=f) for n, f in enumerate(figures)]) == 0.2
    assert waited([]) is None


def test_what_was_gained_is_told_where_both_were_measured():
    before = {"pass@1": {"rate": 0.25, "samples": 8}, "pass@8": {"rate": 0.5}, "tasks": {"a": 2, "b": 2, "c": 2}}
    after = {"pass@1": {"rate": 0.75, "samples": 8}, "tasks": {"a": 6, "b": 6, "d": 6}}
    assert gained(before, after) == {"pass@1": 0.5, "pass@1 interval": [0.5, 0.5]}
    others = after | {"tasks": {"a": 6, "d": 8}, "pass@1": {"rate": 0.875, "samples": 8}}
    assert gained(before, others)["pass@1"] == 0.5  # of "a" alone
    assert gained({}, before) == {}


def test_gains_have_a_geometric_mean():
    assert spread([0.5, 2.0, 4.0]) == pytest.approx({"geomean": 4.0 ** (1 / 3), "least": 0.5, "most": 4.0})
    assert spread([]) == {}
