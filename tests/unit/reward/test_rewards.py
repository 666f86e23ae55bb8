"""Rewards are pure functions of records, one module each, and the table has them all."""

import pytest

import kernelwright.reward
from kernelwright.records.evaluation import OUTCOMES, Crashed, TimedOut
from kernelwright.reward.table import REWARDS
from kernelwright.testing.samples import sample_attempt


@pytest.mark.parametrize(
    ("outcome", "reward"),
    [("refused", -10), ("build_failed", -10), ("incorrect", -5), ("crashed", -5), ("timed_out", -5),
     ("suspect", -5), ("compiled", 0), ("verified", 0), ("measured", 200)],
)  # fmt: skip
def test_tritongym_rewards_every_outcome(outcome, reward):
    assert REWARDS["tritongym"](sample_attempt(0, outcome, 2.0), None, None) == pytest.approx(reward)


@pytest.mark.parametrize("evaluation", [Crashed(stage="compile", reason="-"), TimedOut(stage="compile", limit_s=1)])
def test_a_compiler_that_dies_is_a_kernel_that_does_not_compile(evaluation):
    attempt = sample_attempt().model_copy(update={"evaluation": evaluation})
    assert REWARDS["tritongym"](attempt, None, None) == -10


@pytest.mark.parametrize(("speedup", "reward"), [(4.0, 2.0), (1.0, 0.0), (0.5, -1.0), (1e-9, -4.0)])
def test_log_speedup_is_the_same_step_for_each_doubling(speedup, reward):
    assert REWARDS["log_speedup"](sample_attempt(0, "measured", speedup), None, None) == pytest.approx(reward)


@pytest.mark.parametrize("name", REWARDS)
def test_no_wrong_kernel_earns_as_much_as_a_right_one(name):
    scores = {o: REWARDS[name](sample_attempt(0, o, 2.0), None, None) for o in OUTCOMES}
    wrong = max(scores[o] for o in ("refused", "build_failed", "crashed", "timed_out", "incorrect", "suspect"))
    assert wrong < scores["compiled"] <= scores["verified"] < scores["measured"]


def test_the_table_holds_every_reward(modules_of):
    assert modules_of(kernelwright.reward) - {"table"} == set(REWARDS)
    assert all(reward.__name__ == name for name, reward in REWARDS.items())
