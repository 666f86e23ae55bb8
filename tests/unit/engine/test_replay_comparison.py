"""Whether a recorded verdict still holds: one rule a test."""

import pytest

from kernelwright.engine.replay_comparison import DRIFT, compare, inadmissible
from kernelwright.records.candidate import Candidate
from kernelwright.records.evaluation import Incorrect
from kernelwright.records.measure import Accuracy, Ratio
from kernelwright.records.policy import Policy
from kernelwright.records.receipt import Claim
from kernelwright.records.replay_comparison import Change
from kernelwright.testing.samples import sample_environment, sample_evaluation, sample_measured, sample_task

OTHER_GPU = Change(name="device", then="one", now="another")
OTHER_TORCH = Change(name="torch", then="1", now="2")


def claim(evaluation):
    return Claim(
        task=sample_task(),
        candidate=Candidate(language="cpp", source="x"),
        policy=Policy(),
        effort="final",
        environment=sample_environment(),
        evaluation=evaluation,
    )


def timed(median, low=None, high=None, verdict="faster"):
    """Measured, with this speedup over eager alone."""
    found = sample_measured(median, final=True)
    ratio = Ratio(median=median, low=low or median * 0.99, high=high or median * 1.01, confidence=0.99)
    versus = found.timing.versus[0].model_copy(update={"speedup": ratio, "verdict": verdict})
    return found.model_copy(update={"timing": found.timing.model_copy(update={"versus": (versus,)})})


def stand(then, now, again=None, changed=()):
    return compare(claim(then), now, again or sample_evaluation("verified"), changed)


def finding(comparison, what):
    (found,) = [f for f in comparison.findings if f.what == what]
    return found


def test_the_same_again_holds_in_every_finding():
    comparison = stand(timed(2.0), timed(2.0))
    assert comparison.holds
    assert [f.what for f in comparison.findings] == ["outcome", "accuracy", "speedup over eager"]
    assert all(f.holds for f in comparison.findings)
    assert "every figure the same" in finding(comparison, "accuracy").now


@pytest.mark.parametrize("outcome", ["incorrect", "crashed", "suspect", "timed_out", "build_failed", "refused"])
def test_a_kernel_that_is_not_right_any_more_does_not_hold(outcome):
    comparison = stand(timed(2.0), sample_evaluation(outcome))
    assert not comparison.holds
    assert finding(comparison, "outcome").holds is False
    assert finding(comparison, "speedup over eager").holds is None


@pytest.mark.parametrize("outcome", ["incorrect", "crashed", "timed_out"])
def test_wrong_on_the_recorded_seeds_does_not_hold(outcome):
    comparison = stand(timed(2.0), timed(2.0), sample_evaluation(outcome))
    assert finding(comparison, "accuracy").holds is False
    assert not comparison.holds


def test_a_bad_kernel_s_verdict_holds_too():
    wrong = sample_evaluation("incorrect")
    assert stand(wrong, wrong, wrong).holds
    assert not stand(wrong, timed(2.0)).holds
    crash = sample_evaluation("crashed")
    assert stand(crash, crash, sample_evaluation("verified")).holds, "what is seen in a final only is told"


def test_a_timed_output_is_wrong_in_no_replay():
    wrong = Incorrect(because="timed_output", case="timed call", evidence="off")
    comparison = stand(wrong, wrong)
    assert comparison.holds
    assert finding(comparison, "accuracy").holds is None


@pytest.mark.parametrize(
    ("then", "now", "holds"),
    [
        (timed(2.0), timed(2.01), True),
        (timed(2.0), timed(2.5), True),
        (timed(2.0), timed(2.0 * (1 - DRIFT) * 1.005), True),
        (timed(2.0), timed(2.0 * (1 - DRIFT) * 0.95), False),
        (timed(1.05), timed(1.01, verdict="inconclusive"), False),
        (timed(1.05), timed(0.9, verdict="slower"), False),
        (timed(0.5, verdict="slower"), timed(0.49, verdict="slower"), True),
        (timed(1.0, 0.97, 1.03, "inconclusive"), timed(1.03, 1.01, 1.05, "faster"), True),
        (timed(1.0, 0.97, 1.03, "inconclusive"), timed(2.0), False),
    ],
)
def test_speedups(then, now, holds):
    comparison = stand(then, now)
    assert finding(comparison, "speedup over eager").holds is holds
    assert comparison.holds is holds


def test_on_another_device_the_verdict_counts_and_the_figure_does_not():
    slower = timed(1.2)
    assert not stand(timed(2.0), slower, changed=[OTHER_TORCH]).holds
    comparison = stand(timed(2.0), slower, changed=[OTHER_GPU])
    assert comparison.holds
    assert comparison.changed == (OTHER_GPU,)
    assert not stand(timed(2.0), timed(0.9, verdict="slower"), changed=[OTHER_GPU]).holds


def test_seeds_that_were_never_revealed_are_told():
    comparison = compare(claim(timed(2.0)), timed(2.0), None, ())
    assert comparison.holds
    assert finding(comparison, "accuracy").holds is None


def test_other_inputs_and_other_rounding_are_told_apart():
    then = timed(2.0)
    again = sample_evaluation("verified")
    case = again.accuracy.cases[0]

    def with_case(**changed):
        return again.model_copy(update={"accuracy": Accuracy(cases=(case.model_copy(update=changed),))})

    assert "other rounding" in finding(stand(then, then, with_case(error=2e-7)), "accuracy").now
    assert "other inputs" in finding(stand(then, then, with_case(reference_error=2e-7)), "accuracy").now


def test_a_task_that_is_not_admitted_any_more_does_not_hold():
    comparison = inadmissible(claim(timed(2.0)), "it raises", [OTHER_TORCH])
    assert not comparison.holds
    assert comparison.findings[0].now == "it raises"
