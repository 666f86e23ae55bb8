"""The rewards that published systems train with, on every outcome, and our default's gates."""

import pytest

from kernelwright.records.evaluation import Audit
from kernelwright.records.measure import Ratio
from kernelwright.reward.table import find_reward
from kernelwright.testing.samples import sample_evaluation

OUTCOMES = ("measured", "verified", "compiled", "incorrect", "crashed", "build_failed", "refused", "suspect")


def rewards(name, speedup=2.0):
    return [pytest.approx(find_reward(name)(sample_evaluation(o, speedup), None, None)) for o in OUTCOMES]


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("kevin", [2.3, 0.3, 0, 0, 0, 0, 0, 0]),
        ("drkernel", [4.0, 2.0, 0, 0, 0, 0, 0, 0]),
        ("tritonforge", [1.4, 0.4, 0.1, 0.1, 0.1, 0, 0, 0]),
        ("regraph", [2.0, 0.0, 0.0, -1, -1, -1, -1, -1]),
        ("verified_speedup", [0.3, 0.3, 0, 0, 0, 0, 0, 0]),
    ],
)
def test_every_outcome_is_paid_as_published(name, expected):
    assert rewards(name) == expected


@pytest.mark.parametrize(("speedup", "reward"), [(1.04, 1.0), (1.2, 2.0)])
def test_cuda_agent_pays_in_steps(speedup, reward):
    assert find_reward("cuda_agent")(timed(speedup, 1.0), None, None) == reward
    assert find_reward("cuda_agent")(timed(1.2, 1.2), None, None) == 3.0
    assert find_reward("cuda_agent")(sample_evaluation("incorrect"), None, None) == -1.0


def timed(eager, compiled, verdict="faster", share=None):
    """A measured kernel with these speedups; the interval's lower end is the median."""
    found = sample_evaluation("measured", eager)
    first = found.timing.versus[0]
    versus = tuple(
        first.model_copy(
            update={
                "baseline": name,
                "verdict": verdict,
                "speedup": Ratio(median=value, low=value, high=value, confidence=0.99),
            }
        )
        for name, value in (("eager", eager), ("compile", compiled))
    )
    audit = Audit(probes=(), own_share=share)
    return found.model_copy(update={"timing": found.timing.model_copy(update={"versus": versus}), "audit": audit})


def ours(evaluation):
    return find_reward("verified_speedup")(evaluation, None, None)


def test_our_default_pays_the_gain_over_the_better_baseline_up_to_a_cap():
    assert ours(timed(4.0, 2.0)) == pytest.approx(1.3)
    assert ours(timed(9.0, 9.0)) == pytest.approx(0.3 + 1.5849625)
    assert ours(timed(0.5, 0.5, "slower")) == pytest.approx(0.3)


def test_our_default_pays_nothing_within_noise_and_little_for_others_kernels():
    assert ours(timed(1.5, 1.5, "inconclusive")) == pytest.approx(0.3)
    assert ours(timed(2.0, 2.0, share=0.25)) == pytest.approx(0.55)
