"""The sweep tries every declared point within the budget, and lets the best one stand for the candidate."""

import asyncio
import math

import pytest

from kernelwright.engine import loop
from kernelwright.engine.cached_evaluator import Judgement, autotune, choose_points
from kernelwright.records.attempt import Proposal
from kernelwright.records.candidate import Candidate, Define, Tunable
from kernelwright.records.evaluation import OUTCOMES, merit
from kernelwright.testing.samples import sample_evaluation, sample_measured
from kernelwright.testing.scripted import ScriptedEvaluator, ScriptedProposer

BLOCKS = (Tunable(name="BLOCK", values=(1, 2, 4)), Tunable(name="UNROLL", values=(1, 2)))
ONE = {"budget": {"proposals": 1}}


def test_every_point_is_evaluated_and_the_best_is_the_attempt(play):
    (attempt,) = play(proposer=ScriptedProposer(tunables=BLOCKS), **ONE).attempts
    assert attempt.tuned == 6
    assert attempt.cost.device_s == pytest.approx(6 * 0.75)
    assert attempt.proposal.candidate.tunables == ()
    assert attempt.proposal.candidate.defines == (
        Define(name="BLOCK", value=4),
        Define(name="UNROLL", value=2),
    )


def test_each_point_is_a_sample_of_its_own(play):
    played = play(proposer=ScriptedProposer(tunables=BLOCKS), remeasurement={"enabled": False}, **ONE)
    assert len(played.store.evaluations()) == 6


def test_the_sweep_stops_with_the_device_seconds(play):
    budget = {"proposals": 1, "device_s": 2.0}
    (attempt,) = play(proposer=ScriptedProposer(tunables=BLOCKS), budget=budget).attempts
    assert attempt.tuned == 3


@pytest.mark.parametrize(("best_us", "tried"), [(None, 6), (60.0, 6), (49.0, 4)], ids=["no best", "near", "far behind"])
def test_of_a_structure_far_behind_only_a_few_points_are_tried(best_us, tried):
    class Judge:
        async def judge(self, candidate):
            return Judgement(candidate.id, sample_measured(1.0))

    assert sample_measured(1.0).timing.latency_us == 100.0
    proposal = Proposal(candidate=Candidate(language="cpp", source="x", tunables=BLOCKS))
    found = asyncio.run(autotune(Judge(), proposal, 16, math.inf, best_us))
    assert len(found.tried) == tried


def test_one_time_among_failures_is_not_enough_to_call_a_structure_slow():
    class Judge:
        async def judge(self, candidate):
            first = all(define.value == 1 for define in candidate.defines)
            return Judgement(candidate.id, sample_measured(1.0) if first else sample_evaluation("build_failed"))

    proposal = Proposal(candidate=Candidate(language="cpp", source="x", tunables=BLOCKS))
    assert len(asyncio.run(autotune(Judge(), proposal, 16, math.inf, 1.0)).tried) == 6


def test_a_sweep_is_told_the_time_of_the_best_kernel_that_was_known(play, monkeypatch):
    told = []

    async def recorded(judge, proposal, points, allowance_s, best_us=None):
        told.append(best_us)
        return await autotune(judge, proposal, points, allowance_s, best_us)

    monkeypatch.setattr(loop, "autotune", recorded)
    attempts = play(budget={"proposals": 4}, in_flight=1).attempts
    assert told[0] is None
    assert told[1:] == [min(a.latency_us for a in attempts[:n]) for n in range(1, len(attempts))]


def test_a_candidate_without_tunables_is_not_called_swept(play):
    (attempt,) = play(**ONE).attempts
    assert attempt.tuned == 0


def test_a_wrong_point_does_not_speak_for_a_right_one(play):
    evaluator = ScriptedEvaluator(seed=4, outcomes=("incorrect", "crashed", "measured"))
    (attempt,) = play(evaluator, ScriptedProposer(tunables=BLOCKS), **ONE).attempts
    assert attempt.evaluation.outcome == "measured"


def test_a_large_space_is_sampled_with_its_default():
    wide = Candidate(language="cpp", source="x", tunables=(Tunable(name="N", values=tuple(range(1000))),))
    points = choose_points(wide, 8)
    assert len({point.id for point in points}) == 8
    assert points[0].defines == (Define(name="N", value=0),)
    assert points == choose_points(wide, 8)
    assert [p.defines[0].value for p in points] != sorted(p.defines[0].value for p in points)


@pytest.mark.parametrize("tunables", [8, 40])
def test_of_a_space_too_large_to_walk_a_few_points_are_drawn(tunables):
    values = tuple(range(12))
    vast = Candidate(
        language="cpp", source="x", tunables=tuple(Tunable(name=f"LAUNCH{i}", values=values) for i in range(tunables))
    )
    points = choose_points(vast, 8)
    assert len({point.id for point in points}) == 8
    assert {define.value for define in points[0].defines} == {0}
    assert points == choose_points(vast, 8)


def test_better_outcomes_come_first_and_time_decides_among_the_measured():
    ranked = sorted((sample_evaluation(o) for o in OUTCOMES), key=merit, reverse=True)
    assert [found.outcome for found in ranked] == list(OUTCOMES)
    assert merit(sample_measured(3.0)) > merit(sample_measured(2.0))


def test_a_disturbed_measurement_does_not_win_by_its_median():
    steady, disturbed = sample_measured(2.0), sample_measured(6.0)
    wide = disturbed.timing.versus[0].speedup.model_copy(update={"low": 0.9})
    versus = disturbed.timing.versus[0].model_copy(update={"speedup": wide})
    timing = disturbed.timing.model_copy(update={"versus": (versus,)})
    assert merit(steady) > merit(disturbed.model_copy(update={"timing": timing}))
