"""What kernels are held against stands on a run's card, and every brief of the run has it."""

import asyncio
from dataclasses import replace

import pytest

from kernelwright.engine.config import RunConfig
from kernelwright.engine.opening import measured_yardstick
from kernelwright.engine.progress import completed, withhold
from kernelwright.engine.run import Parts, run
from kernelwright.propose.llm.writer import LLM
from kernelwright.propose.proposer import RunFacts
from kernelwright.records.measure import CaseError, Yardstick
from kernelwright.store.run import RunStore
from kernelwright.testing.samples import sample_card, sample_task
from kernelwright.testing.scripted import ScriptedEvaluator, ScriptedProposer

CASE = CaseError(distribution="scaled", error=1e-8, reference_error=1e-8, allowed=2e-7)
FOUND = Yardstick(times_us={"eager": 12.5, "compile": 7.25}, floor_us=1.5, strictest=CASE)


@pytest.mark.parametrize(("proposer", "expected"), [(LLM(), FOUND), (ScriptedProposer(), None)])
def test_only_a_proposer_that_shows_it_has_it_measured(proposer, expected):
    evaluator = ScriptedEvaluator(held_against=FOUND)
    assert asyncio.run(measured_yardstick(sample_task(), evaluator, proposer)) == expected


@pytest.mark.parametrize("withheld", [False, True])
def test_every_brief_has_what_the_card_has(tmp_path, withheld):
    card = sample_card().model_copy(update={"yardstick": FOUND})
    store, proposer = RunStore.create(tmp_path / "run", card), ScriptedProposer()
    settings = {"budget": {"proposals": 3}, "withhold_feedback": withheld}
    parts = Parts(proposer, ScriptedEvaluator(outcomes=("measured",)), lambda event: None)
    asyncio.run(run(store, RunConfig.model_validate(settings), parts))
    store.close()
    assert [brief.run.yardstick for brief in proposer.briefs] == [FOUND] * len(proposer.briefs)
    assert RunStore.open(tmp_path / "run").card.yardstick == FOUND


def test_what_was_not_measured_before_is_had_from_the_first_timed_kernel():
    later = Yardstick(times_us={"eager": 99.0, "graph": 5.0}, floor_us=9.0)
    assert completed(FOUND, later) == FOUND.model_copy(update={"times_us": {**FOUND.times_us, "graph": 5.0}})
    assert completed(Yardstick(), later) == completed(None, later) == later
    assert completed(FOUND, None) == FOUND


def test_what_attempts_told_is_withheld_with_their_fate(play):
    proposer = ScriptedProposer()
    play(proposer=proposer, budget={"proposals": 3}, withhold_feedback=True)
    assert {brief.run.yardstick for brief in proposer.briefs} == {None}
    known = replace(proposer.briefs[-1], run=RunFacts(yardstick=FOUND))
    assert withhold(known).run.yardstick is None
