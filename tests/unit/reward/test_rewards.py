"""Rewards are pure functions of records, and the table has them all."""

import inspect
import math

import pytest

import kernelwright.reward.table
import kernelwright.reward.training
from kernelwright.errors import UsageError
from kernelwright.records.evaluation import OUTCOMES, Crashed, TimedOut
from kernelwright.reward.table import ABLATIONS, REWARDS, ByRole, find_reward
from kernelwright.testing.samples import sample_evaluation


@pytest.mark.parametrize(
    ("outcome", "reward"),
    [("refused", -10), ("build_failed", -10), ("incorrect", -5), ("crashed", -5), ("timed_out", -5),
     ("suspect", -5), ("compiled", 0), ("verified", 0), ("measured", 200)],
)  # fmt: skip
def test_tritongym_rewards_every_outcome(outcome, reward):
    assert find_reward("tritongym")(sample_evaluation(outcome, 2.0), None, None) == pytest.approx(reward)


@pytest.mark.parametrize("evaluation", [Crashed(stage="compile", reason="-"), TimedOut(stage="compile", limit_s=1)])
def test_a_compiler_that_dies_is_a_kernel_that_does_not_compile(evaluation):
    assert find_reward("tritongym")(evaluation, None, None) == -10


@pytest.mark.parametrize(("speedup", "reward"), [(4.0, 2.0), (1.0, 0.0), (0.5, -1.0), (1e-9, -4.0)])
def test_log_speedup_is_the_same_step_for_each_doubling(speedup, reward):
    assert find_reward("log_speedup")(sample_evaluation("measured", speedup), None, None) == pytest.approx(reward)


@pytest.mark.parametrize(
    ("outcome", "reward"),
    [("refused", 0), ("build_failed", 0), ("suspect", 0), ("incorrect", 0.2), ("crashed", 0.2), ("timed_out", 0.2),
     ("compiled", 0.5), ("verified", 1), ("measured", 1)],
)  # fmt: skip
def test_the_frontend_is_paid_for_what_is_right(outcome, reward):
    assert find_reward("frontend")(sample_evaluation(outcome, 9.0), None, None) == reward


@pytest.mark.parametrize("evaluation", [Crashed(stage="compile", reason="-"), TimedOut(stage="compile", limit_s=1)])
def test_a_compiler_that_dies_earns_the_frontend_nothing(evaluation):
    assert find_reward("frontend")(evaluation, None, None) == 0


@pytest.mark.parametrize(
    ("outcome", "speedup", "reward"),
    [("measured", 4.0, 2.0), ("measured", 1.0, 0.5), ("measured", 9.0, 3.0), ("incorrect", 9.0, 0.0),
     ("build_failed", 9.0, 0.0), ("suspect", 9.0, 0.0), ("verified", 9.0, 0.1), ("compiled", 9.0, 0.1)],
)  # fmt: skip
def test_the_mid_end_is_paid_for_the_speedup_over_its_parent(outcome, speedup, reward):
    parent = sample_evaluation("measured", 2.0)
    assert find_reward("midend")(sample_evaluation(outcome, speedup), parent, None) == pytest.approx(reward)


@pytest.mark.parametrize("outcome", OUTCOMES)
def test_correctness_is_one_or_nothing(outcome):
    right = outcome in ("measured", "verified")
    assert find_reward("correctness")(sample_evaluation(outcome), None, None) == float(right)


@pytest.mark.parametrize(
    ("outcome", "speedup", "reward"),
    [("measured", 4.0, math.log(2)), ("measured", 1.0, -math.log(2)), ("measured", 2.0, 0.0), ("measured", 900.0, 2.0),
     ("measured", 1e-4, -2.0), ("incorrect", 9.0, -0.1), ("suspect", 9.0, -0.1), ("verified", 9.0, 0.0)],
)  # fmt: skip
def test_a_log_gain_costs_what_is_slower_as_much_as_it_pays_what_is_faster(outcome, speedup, reward):
    parent = sample_evaluation("measured", 2.0)
    assert find_reward("log_gain")(sample_evaluation(outcome, speedup), parent, None) == pytest.approx(reward)


@pytest.mark.parametrize("parent", [None, sample_evaluation("verified")])
def test_beside_a_parent_without_a_time_nothing_was_gained(parent):
    assert find_reward("midend")(sample_evaluation("measured", 2.5), parent, None) == 1.0


def test_each_of_the_pair_is_paid_for_its_own_work():
    parent, child = sample_evaluation("measured", 2.0), sample_evaluation("measured", 4.0)
    assert find_reward("frontend_midend", "frontend")(child, parent, None) == 1.0
    assert find_reward("frontend_midend", "midend")(child, parent, None) == pytest.approx(2.0)


def test_the_midend_is_paid_nothing_for_what_it_broke():
    assert find_reward("frontend_midend", "midend")(sample_evaluation("incorrect"), None, None) == 0.0


def test_an_unknown_reward_is_named_with_those_that_there_are():
    with pytest.raises(
        UsageError,
        match=r"reward 'speed' must be one of correctness, cuda_agent, .*frontend, frontend_midend, .*log_speedup",
    ):
        find_reward("speed")


@pytest.mark.parametrize("name", REWARDS)
def test_no_wrong_kernel_earns_as_much_as_a_right_one(name):
    scores = {o: find_reward(name)(sample_evaluation(o, 2.0), None, None) for o in OUTCOMES}
    wrong = max(scores[o] for o in ("refused", "build_failed", "crashed", "timed_out", "incorrect", "suspect"))
    assert wrong <= scores["compiled"] <= scores["verified"] <= scores["measured"]
    assert wrong < scores["verified"]
    assert scores["compiled"] < scores["measured"]


@pytest.mark.parametrize("name", ["frontend", "log_speedup", "midend", "tritongym"])
def test_without_its_device_a_search_still_tells_what_builds_from_what_is_wrong(name):
    """Systems that only train count what was not run as not right; a search on a device that is not here must not."""
    scores = [find_reward(name)(sample_evaluation(o), None, None) for o in ("incorrect", "compiled")]
    assert scores[0] < scores[1]


def test_the_table_holds_every_reward():
    alone = {name: reward for name, reward in REWARDS.items() if not isinstance(reward, ByRole)}
    functions = [
        *inspect.getmembers(kernelwright.reward.table, inspect.isfunction),
        *inspect.getmembers(kernelwright.reward.training, inspect.isfunction),
    ]
    scoring = {
        name
        for name, function in functions
        if [*inspect.signature(function).parameters] == ["evaluation", "parent", "best"]
    }
    assert scoring == {*alone, *ABLATIONS}
    assert all(reward.__name__ == name for name, reward in alone.items())


def test_rewards_of_ablations_differ_from_the_midend_s_where_they_should():
    parent, much = sample_evaluation("measured", 1.0), sample_evaluation("measured", 8.0)
    assert [find_reward(name)(much, parent, None) for name in ("midend", "raw_gain")] == pytest.approx([3.0, 8.0])
    wrong = [find_reward("ungated_gain")(sample_evaluation(one), parent, None) for one in ("incorrect", "crashed")]
    assert (find_reward("raw_gain")(sample_evaluation("incorrect"), parent, None), *wrong) == (0.0, 1.0, 0.0)
