"""The run: where it goes depends on the evaluations alone, and every way to end leaves the best so far."""

import asyncio
import random
from contextlib import closing

import pytest

from kernelwright.engine.config import RunConfig
from kernelwright.engine.events import EVENT
from kernelwright.engine.progress import INTERRUPTED
from kernelwright.engine.run import Parts, run
from kernelwright.engine.summary import summarize
from kernelwright.errors import MachineError, ProposeError, StoreError, TaskError
from kernelwright.records.attempt import speedup
from kernelwright.records.evaluation import Suspect
from kernelwright.records.measure import Load, Ratio
from kernelwright.store.run import RunStore
from kernelwright.testing.samples import sample_card
from kernelwright.testing.scripted import ScriptedEvaluator, ScriptedProposer, quality

FOUR = {"budget": {"proposals": 4}}
SIDE_BY_SIDE = {"strategy": {"name": "best_of_n"}, "in_flight": 4, "budget": {"proposals": 12}}


class Jittery(ScriptedEvaluator):
    """The same verdicts, in an order that no two runs share."""

    async def evaluate(self, task, candidate, effort="search"):
        await asyncio.sleep(random.random() * 0.01)
        return await super().evaluate(task, candidate, effort)


@pytest.mark.parametrize("strategy", ["tritongym", "best_of_n"])
def test_timing_never_changes_where_a_search_goes(play, strategy):
    settings = SIDE_BY_SIDE | {"strategy": {"name": strategy}}
    first, second = (play(Jittery(seed=3), **settings) for _ in range(2))
    assert len(first.attempts) == 12
    assert first.attempts == second.attempts


def test_another_seed_is_another_search(play):
    assert play(seed=1).attempts != play(seed=2).attempts


def test_attempts_are_numbered_and_told_in_order_of_their_expansions(play):
    played = play(Jittery(), **SIDE_BY_SIDE)
    assert [a.number for a in played.attempts] == list(range(12))
    assert [a.proposal_request.number for a in played.attempts] == list(range(12))
    assert [tell.attempt for tell in played.store.tells()] == list(range(12))


def test_a_proposer_that_repeats_itself_still_stops(play):
    played = play(proposer=ScriptedProposer(qualities=0), **SIDE_BY_SIDE)
    assert len(played.attempts) == 12
    assert [a.known for a in played.attempts] == [None] + [0] * 11
    assert len(played.calls) == 2, "once in the search, once for the final"
    assert [a.cost.device_s for a in played.attempts] == [0.75] + [0.0] * 11


def test_the_reward_is_what_the_strategy_was_told(play):
    played = play(reward="log_speedup", **FOUR)
    rewards = [tell.reward for tell in played.store.tells()]
    assert rewards == [event.feedback.reward for event in played.of("judged")]
    assert len(set(rewards)) > 1


def test_feedback_lets_the_scripted_proposer_climb(play):
    open_eyes = play(seed=5, budget={"proposals": 24})
    closed_eyes = play(seed=5, budget={"proposals": 24}, withhold_feedback=True)
    assert speedup(open_eyes.outcome.final) > speedup(closed_eyes.outcome.final)


def test_what_is_withheld_is_withheld(play):
    played = play(ScriptedEvaluator(seed=1), withhold_feedback=True, budget={"proposals": 8})
    later = played.briefs[1:]
    assert later
    for brief in later:
        assert brief.feedback == ()
        assert len(brief.parents) == len(brief.proposal_request.parents) == 1
        assert {p.evaluation.outcome for p in brief.parents} == {"refused"}
        assert brief.proposal_request.intent == "improve"
    assert {a.proposal_request.intent for a in played.attempts} == {"seed", "improve", "repair"}


def test_with_feedback_each_parent_comes_with_its_words(play):
    briefs = play(**FOUR).briefs
    assert len(briefs) == 4
    for brief in briefs[1:]:
        assert [f.attempt for f in brief.feedback] == [p.number for p in brief.parents]


def test_seeds_differ_by_expansion_and_by_run(play):
    seeds = [brief.seed for seed in (0, 1) for brief in play(seed=seed, **FOUR).briefs]
    assert len(set(seeds)) == 8


def test_the_final_figure_is_measured_anew(play):
    played = play(**FOUR)
    final = played.outcome.final
    assert final.evaluation.timing.final
    assert final.number == played.outcome.best
    assert not any(a.evaluation.timing.final for a in played.attempts)


def test_a_refuted_finalist_makes_room_for_the_next(play):
    best = play(**FOUR).outcome.final
    played = play(ScriptedEvaluator(outcomes=("measured",), refuted=(quality(best),)), **FOUR)
    assert quality(played.outcome.final) < quality(best)


class Disturbed(ScriptedEvaluator):
    """Finals that other work disturbs, for a number of times."""

    times = 0

    async def evaluate(self, task, candidate, effort="search"):
        found = await super().evaluate(task, candidate, effort)
        self.times -= effort == "final"
        if effort == "final" and self.times >= 0:
            return Suspect(because="clock_disagrees", evidence="its clock misses 3 us", load=Load(cores=2, during=1.5))
        return found


def disturbed(times):
    evaluator = Disturbed(outcomes=("measured",))
    evaluator.times = times
    return evaluator


def test_a_final_that_other_work_disturbed_is_measured_again_by_itself(play):
    played = play(disturbed(1), **FOUR)
    assert played.outcome.final.evaluation.timing.final
    assert "once more" in played.of("phase")[-1].text
    again = play(disturbed(9), folder=played.folder, **FOUR)
    assert again.calls == [], "what was measured then is recorded"


def test_a_run_whose_finals_stay_disturbed_says_so_and_measures_again_when_it_is_resumed(play):
    played = play(disturbed(99), **FOUR)
    told = summarize(played.store)
    assert (told.answer, told.best, told.goes_on) == ("disturbed", None, True)
    assert told.said == "Right, and its final measurement was disturbed"
    assert "its clock misses 3 us" in told.why and "resume" in told.why
    again = play(disturbed(0), folder=played.folder, **FOUR)
    assert len(again.calls) == 1
    assert (summarize(again.store).answer, again.outcome.final.number) == ("faster", again.outcome.best)


def test_when_no_finalist_stands_there_is_no_best(play):
    played = play(ScriptedEvaluator(outcomes=("measured",), refuted=range(100)), **FOUR)
    assert played.outcome.best is None
    assert "No kernel stood" in played.outcome.stopped


def test_without_finals_the_best_of_the_search_is_named(play):
    played = play(remeasurement={"enabled": False}, **FOUR)
    assert played.outcome.final is None
    assert played.outcome.best == max(played.attempts, key=speedup).number


def test_nothing_right_is_null_with_the_reason(play):
    played = play(ScriptedEvaluator(outcomes=("incorrect", "crashed", "build_failed")), **FOUR)
    assert (played.outcome.best, played.outcome.final) == (None, None)
    assert played.outcome.stopped == "Failed to generate a functional kernel."


def test_a_verified_kernel_is_best_where_nothing_can_be_timed(play):
    played = play(ScriptedEvaluator(outcomes=("compiled", "verified")), budget={"proposals": 8})
    assert played.attempts[played.outcome.best].evaluation.outcome == "verified"
    assert played.outcome.final is None


def test_the_target_stops_the_search_early(play):
    played = play(target_us=1000.0, budget={"proposals": 50})
    assert len(played.attempts) == 1
    assert played.outcome.stopped == "Optimized kernel found within target."


@pytest.mark.parametrize(
    ("budget", "attempts", "words"),
    [
        ({"device_s": 2.0}, 3, "budget of 2 device seconds"),
        ({"tokens": 25}, 3, "budget of 25 tokens"),
        ({"usd": 0.0015}, 2, "budget of 0.0015 US dollars"),
    ],
)
def test_each_owner_of_the_budget_can_end_the_search(play, budget, attempts, words):
    settings = {"strategy": {"name": "best_of_n"}, "in_flight": 1, "budget": {"proposals": 99, **budget}}
    played = play(proposer=ScriptedProposer(qualities=10**9), **settings)
    assert len(played.attempts) == attempts
    assert words in played.outcome.stopped


def test_a_proposer_that_runs_dry_ends_the_search(play):
    played = play(proposer=ScriptedProposer(answers=2), budget={"proposals": 9})
    assert len(played.attempts) == 2
    assert played.outcome.best is not None
    assert played.outcome.complete


def test_the_referee_may_break_once(play):
    played = play(ScriptedEvaluator(outcomes=("measured",), breaks=1), in_flight=1, **FOUR)
    assert played.ending.error is None
    assert len(played.attempts) == 4


def test_a_broken_referee_ends_the_run_with_the_best_so_far_and_it_can_go_on(play):
    healthy = play(**FOUR)

    class BreaksLater(ScriptedEvaluator):
        async def evaluate(self, task, candidate, effort="search"):
            self.breaks = 1 if len(self.calls) >= 2 else 0
            return await super().evaluate(task, candidate, effort)

    played = play(BreaksLater(outcomes=("measured",)), **FOUR)
    assert "scripted referee broke" in str(played.ending.error)
    assert played.outcome.best is not None
    assert not played.outcome.complete
    assert 0 < len(played.attempts) < 4
    resumed = play(folder=played.folder, **FOUR)
    assert resumed.attempts == healthy.attempts
    assert resumed.outcome == healthy.outcome


@pytest.mark.parametrize("error", [MachineError("the disk is full"), TaskError("no memory to judge it", "too_large")])
def test_a_machine_or_a_device_that_is_full_leaves_the_best_so_far_too(play, error):
    class FullLater(ScriptedEvaluator):
        async def evaluate(self, task, candidate, effort="search"):
            if len(self.calls) >= 2:
                raise error
            return await super().evaluate(task, candidate, effort)

    played = play(FullLater(outcomes=("measured",)), **FOUR)
    assert played.ending.error is error
    assert (played.outcome.best, played.outcome.stopped) == (played.attempts[-1].number, str(error))
    assert not played.outcome.complete


def test_a_task_that_cannot_be_written_is_no_attempt(play):
    played = play(proposer=ScriptedProposer(error=ProposeError("no `aten.fft`")))
    assert str(played.ending.error) == "no `aten.fft`"
    assert played.attempts == []


def test_a_resumed_run_asks_neither_proposer_nor_referee_again(play):
    first = play(Jittery(seed=2), **SIDE_BY_SIDE)
    again = play(Jittery(seed=2), folder=first.folder, **SIDE_BY_SIDE)
    assert (again.calls, again.briefs) == ([], [])
    assert again.attempts == first.attempts
    assert again.outcome == first.outcome
    assert all(event.replayed for event in again.of("judged"))


@pytest.mark.parametrize(
    "change", [{"strategy": {"name": "best_of_n"}}, {"reward": "log_speedup"}], ids=["strategy", "reward"]
)
def test_a_journal_that_disagrees_stops_the_resumed_run(play, change):
    first = play(**FOUR)
    with pytest.raises(StoreError, match="cannot go on"):
        play(folder=first.folder, **(FOUR | change))
    with closing(RunStore.open(first.folder)) as store:
        assert store.attempts() == first.attempts


def test_every_event_is_journaled_and_read_back(play):
    played = play(**FOUR)
    journaled = [EVENT.validate_json(body) for body in played.store.events()]
    assert journaled == played.events
    kinds = [event.kind for event in journaled]
    assert {"asked", "proposed", "judged", "new_best", "spent", "phase", "finished"} == set(kinds)


def test_cancelling_leaves_the_best_so_far_and_nothing_running(tmp_path):
    evaluator = ScriptedEvaluator(outcomes=("measured",), delay_s=0.02)
    store = RunStore.create(tmp_path / "run", sample_card())

    async def interrupt():
        config = RunConfig.model_validate(SIDE_BY_SIDE | {"budget": {"proposals": 10_000}})
        running = asyncio.create_task(run(store, config, Parts(ScriptedProposer(qualities=10**9), evaluator)))
        while len(store.attempts()) < 3:
            await asyncio.sleep(0.005)
        running.cancel()
        ending = await running
        assert asyncio.all_tasks() == {asyncio.current_task()}
        return ending

    ending = asyncio.run(interrupt())
    assert ending.interrupted
    assert ending.outcome.stopped.startswith(f"{INTERRUPTED} Not judged to the end: ")
    assert ending.outcome.best is not None
    assert not ending.outcome.complete
    assert store.outcome() == ending.outcome
    store.close()


class Busy(ScriptedEvaluator):
    """Times beside other work, so that the search's intervals are wide; its finals are sharp."""

    async def evaluate(self, task, candidate, effort="search"):
        found = await super().evaluate(task, candidate, effort)
        load, wide = Load(cores=2, during=1.5), Ratio(median=9.0, low=1.0, high=17.6, confidence=0.99)
        versus = tuple(v.model_copy(update={"speedup": wide}) for v in found.timing.versus)
        timing = found.timing.model_copy(
            update={"load": load} if effort == "final" else {"load": load, "versus": versus}
        )
        return found.model_copy(update={"timing": timing})


def test_a_blurred_attempt_is_no_new_best_and_is_measured_again_all_the_same(play):
    played = play(Busy(outcomes=("measured",)), **FOUR)
    assert len(played.attempts) == 4
    assert played.of("new_best") == []
    assert played.outcome.final is not None


def test_a_busy_machine_is_told_of_once(play):
    (warned,) = play(Busy(outcomes=("measured",)), **FOUR).of("warned")
    assert warned.text.startswith("this machine is busy: other work kept 1.5 of 2 cores busy")
    assert play(ScriptedEvaluator(outcomes=("measured",)), **FOUR).of("warned") == []
