"""Attempts: who is fastest, and what an attempt's time is."""

from kernelwright.records.attempt import Attempt, Cost, Proposal, ProposalRequest, fastest, speedup
from kernelwright.records.candidate import Candidate
from kernelwright.records.evaluation import OUTCOMES
from kernelwright.testing.samples import sample_evaluation, sample_measured


def attempt(number, evaluation):
    return Attempt(
        number=number,
        proposal_request=ProposalRequest(number=number, intent="seed"),
        proposal=Proposal(candidate=Candidate(language="cpp", source=str(number))),
        evaluation=evaluation,
        cost=Cost(),
    )


def with_latency(measured, latency_us):
    return measured.model_copy(update={"timing": measured.timing.model_copy(update={"latency_us": latency_us})})


def test_the_fastest_has_the_largest_speedup_and_not_the_smallest_latency():
    steady = attempt(0, with_latency(sample_measured(2.0), 100.0))
    better = attempt(1, with_latency(sample_measured(3.0), 120.0))
    assert fastest([steady, better]) is better
    assert fastest((better, steady)) is better


def test_only_measured_attempts_compete():
    others = [attempt(n, sample_evaluation(o)) for n, o in enumerate(OUTCOMES) if o != "measured"]
    slow = attempt(99, sample_measured(0.1))
    assert fastest(others) is None
    assert fastest([*others, slow]) is slow
    assert all(speedup(a) == 0.0 and a.latency_us is None for a in others)


def test_nothing_is_fastest_of_nothing():
    assert fastest([]) is None


def test_the_first_of_equals_wins():
    twins = [attempt(n, sample_measured(2.0)) for n in range(2)]
    assert fastest(twins) is twins[0]


def test_a_measurement_without_eager_has_no_speedup():
    measured = sample_measured(2.0)
    alone = measured.model_copy(update={"timing": measured.timing.model_copy(update={"versus": ()})})
    assert speedup(attempt(0, alone)) == 0.0
    assert attempt(0, alone).latency_us == measured.timing.latency_us
