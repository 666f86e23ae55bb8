"""Whether a recorded verdict still holds: one rule a test."""

from random import Random

import pytest

from kernelwright.engine.replay_comparison import DRIFT, compare, inadmissible
from kernelwright.evaluate.timing.statistics import Stopping
from kernelwright.records.candidate import Candidate
from kernelwright.records.evaluation import Incorrect
from kernelwright.records.measure import Accuracy, Ratio, Side
from kernelwright.records.policy import Policy
from kernelwright.records.receipt import Change, Claim
from kernelwright.testing.samples import (
    sample_arms,
    sample_environment,
    sample_evaluation,
    sample_measured,
    sample_task,
)

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
    """Measured, with this speedup over eager alone, and samples that it follows from."""
    found = sample_measured(median, final=True)
    ratio = Ratio(median=median, low=low or median * 0.99, high=high or median * 1.01, confidence=0.99)
    versus = found.timing.versus[0].model_copy(update={"speedup": ratio, "verdict": verdict})
    arms = sample_arms(ratio.low, ratio.median, ratio.high)
    return with_timing(found, versus=(versus,), arms=arms)


def with_timing(found, **changed):
    return found.model_copy(update={"timing": found.timing.model_copy(update=changed)})


def claiming(found, verdict=None, **figures):
    """The same samples, another speedup over eager."""
    (versus,) = found.timing.versus
    speedup = versus.speedup.model_copy(update=figures)
    changed = versus.model_copy(update={"speedup": speedup, "verdict": verdict or versus.verdict})
    return with_timing(found, versus=(changed,))


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
        (timed(2.0), timed(2.0, verdict="disturbed"), False),
        (timed(2.0, verdict="disturbed"), timed(2.0), True),
        (timed(0.5, verdict="slower"), timed(0.49, verdict="slower"), True),
        (timed(1.0, 0.97, 1.03, "inconclusive"), timed(1.03, 1.01, 1.05, "faster"), True),
        (timed(1.0, 0.97, 1.03, "inconclusive"), timed(2.0), False),
    ],
)
def test_speedups(then, now, holds):
    comparison = stand(then, now)
    assert finding(comparison, "speedup over eager").holds is holds
    assert comparison.holds is holds


def test_a_least_effect_that_an_older_record_does_not_tell_is_no_forgery():
    found = timed(2.0)
    (versus,) = found.timing.versus
    assert versus.speedup.least == 0.0
    assert stand(found, timed(2.0)).holds
    told = claiming(found, least=0.02)
    assert stand(told, timed(2.0)).holds


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


@pytest.mark.parametrize(
    "figures",
    [
        {"median": 5000.0, "low": 1.02, "high": 100_000.0},
        {"median": 2.001},
        {"low": 1.5},
        {"high": 2.5},
        {"confidence": 0.9999},
        {"verdict": "slower"},
    ],
)
@pytest.mark.parametrize("changed", [(), [OTHER_GPU]], ids=["here", "another device"])
def test_a_figure_that_does_not_follow_from_the_samples_does_not_hold(figures, changed):
    comparison = stand(claiming(timed(2.0), **figures), timed(2.0), changed=changed)
    assert not comparison.holds
    told = finding(comparison, "speedup over eager")
    assert told.holds is False
    assert told.now == "the samples that are recorded with it say 2x (1.98 to 2.02), faster"


def test_a_verdict_that_claims_less_than_the_samples_is_no_forgery():
    then = claiming(timed(1.02, 1.017, 1.03), verdict="inconclusive")
    assert stand(then, timed(1.02, 1.017, 1.03)).holds


@pytest.mark.parametrize(
    ("candidate", "eager"),
    [((50.0,) * 9, (100.0,) * 10), ((50.0,), (100.0,)), ((0.0,) * 10, (100.0,) * 10), ((50.0,) * 70, (100.0,) * 70),
     ((float("inf"),) * 10, (100.0,) * 10)],
)  # fmt: skip
def test_samples_of_no_benchmark_prove_nothing(candidate, eager):
    arms = (Side(name="candidate", samples_us=candidate), Side(name="eager", samples_us=eager))
    told = finding(stand(with_timing(timed(2.0), arms=arms), timed(2.0)), "speedup over eager")
    assert told.holds is False
    assert "no benchmark has such samples" in told.now


def test_invented_samples_with_a_wide_interval_do_not_hold():
    told = finding(stand(timed(5000.0, 1.02, 100_000.0), timed(2.0)), "speedup over eager")
    assert told.holds is False
    assert "median lies far above" in told.now
    assert stand(timed(2.9, 1.02, 100.0), timed(2.0)).holds, "a busy machine's receipt"


@pytest.mark.parametrize(("median", "holds"), [(2.0, True), (2.2, True), (2.3, False), (5000.0, False)])
def test_without_samples_the_median_must_be_measured_again(median, holds):
    then = with_timing(timed(median, 1.02, 100_000.0), arms=())
    assert stand(then, timed(2.0)).holds is holds
    assert stand(then, timed(2.0), changed=[OTHER_GPU]).holds, "a figure of another device is another question"


def test_without_samples_and_without_a_time_here_nothing_holds():
    then = with_timing(timed(2.0), arms=())
    untimed = with_timing(timed(2.0), versus=())
    assert finding(stand(then, untimed), "speedup over eager").holds is False
    assert finding(stand(timed(2.0), untimed), "speedup over eager").holds is None
    assert finding(stand(then, untimed, changed=[OTHER_GPU]), "speedup over eager").holds is None


def test_serial_code_beside_a_device_is_compared_with_a_profile_from_elsewhere():
    then = with_timing(claiming(timed(2.0), median=2.01), clock="device")
    serial = claim(then).model_copy(update={"task": serial_task()})
    assert compare(serial, timed(2.0), sample_evaluation("verified"), ()).holds
    assert not stand(then, timed(2.0)).holds


def serial_task():
    task = sample_task()
    return task.model_copy(update={"source": task.source.model_copy(update={"serial": "anything"})})


def test_what_the_statistics_say_of_a_benchmark_is_what_is_worked_out_anew():
    drawn = Random(1)
    us = {n: [m * drawn.lognormvariate(0, 0.1) for _ in range(24)] for n, m in (("eager", 100.0), ("candidate", 80.0))}
    rule = Stopping(("eager",), most=24, confidence=0.99, minimum_effect=0.015, precision=0.02)
    arms = tuple(Side(name=name, samples_us=tuple(values)) for name, values in us.items())
    found = with_timing(timed(2.0), arms=arms, versus=(rule.versus(us, "eager"),), final=False)
    assert stand(found, found).holds
