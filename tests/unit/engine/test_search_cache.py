"""A second run takes over what the first one found; finals and resumed runs are as ever."""

import asyncio

import pytest

from kernelwright.engine.config import RunConfig
from kernelwright.engine.run import Parts, run
from kernelwright.store.cache import EvaluationCache
from kernelwright.store.run import RunStore
from kernelwright.testing.samples import sample_card, sample_environment
from kernelwright.testing.scripted import ScriptedEvaluator, ScriptedProposer


@pytest.fixture
def cache(tmp_path):
    made = EvaluationCache(tmp_path / "cache.sqlite")
    yield made
    made.close()


@pytest.fixture
def play(tmp_path):
    stores = []

    def play(name, cache, evaluator=None, isolation=("network",), **settings):
        environment = sample_environment().model_copy(update={"isolation": isolation})
        card = sample_card().model_copy(update={"id": name, "environment": environment})
        store = RunStore.create(tmp_path / name, card)
        stores.append(store)
        events = []
        evaluator = evaluator or ScriptedEvaluator(outcomes=("measured",))
        parts = Parts(ScriptedProposer(), evaluator, events.append, cache=cache)
        asyncio.run(run(store, RunConfig.model_validate(settings), parts))
        return store, evaluator, events

    yield play
    for store in stores:
        store.close()


def test_a_second_run_pays_for_the_final_alone(play, cache):
    first, judged, _ = play("first", cache)
    second, spared, events = play("second", cache)
    assert len(judged.calls) > 2
    assert set(spared.calls) <= {first.outcome().final.proposal.candidate.id}, "finals are measured anew"
    assert len(spared.calls) >= 1
    assert [a.proposal for a in second.attempts()] == [a.proposal for a in first.attempts()]
    assert {a.evaluation.cached_from for a in second.attempts()} == {"first"}
    assert {a.evaluation.cached_from for a in first.attempts()} == {""}
    assert sum(a.cost.device_s for a in second.attempts()) == 0
    assert second.outcome().final.evaluation.cached_from == ""
    assert {e.cached_from for e in events if e.kind == "judged"} == {"first"}


def test_without_the_cache_all_is_judged(play, cache):
    _, judged, _ = play("first", cache)
    _, again, _ = play("second", None)
    assert again.calls == judged.calls


def test_a_run_that_took_over_is_resumed_the_same_even_without_the_cache(play, cache, tmp_path):
    play("first", cache)
    second, _, _ = play("second", cache, budget={"proposals": 6})
    attempts = second.attempts()
    second.close()
    store = RunStore.open(tmp_path / "second", writing=True)
    evaluator = ScriptedEvaluator(outcomes=("measured",))
    settings = RunConfig.model_validate({"budget": {"proposals": 6}})
    asyncio.run(run(store, settings, Parts(ScriptedProposer(), evaluator)))
    assert store.attempts() == attempts
    assert evaluator.calls == []
    store.close()


def test_suspects_and_crashes_are_judged_by_every_run(play, cache):
    outcomes = ("suspect", "crashed", "timed_out")
    _, judged, _ = play("first", cache, ScriptedEvaluator(outcomes=outcomes))
    _, again, _ = play("second", cache, ScriptedEvaluator(outcomes=outcomes))
    assert judged.calls == again.calls != []


def test_a_trouble_is_told_once_and_ends_nothing(play, tmp_path):
    (tmp_path / "corrupt.sqlite").write_bytes(b"no database" * 1000)
    cache = EvaluationCache(tmp_path / "corrupt.sqlite")
    store, _, events = play("first", cache)
    assert len([e for e in events if e.kind == "warned"]) == 1
    assert store.outcome().final is not None


def test_what_a_weaker_sandbox_let_pass_is_not_taken_over(play, cache):
    _, judged, _ = play("first", cache, isolation=("network",))
    _, again, _ = play("second", cache, isolation=("network", "landlock"))
    assert again.calls == judged.calls


def test_what_becomes_best_by_the_cache_s_word_is_judged_here_where_no_final_judges_it(play, cache):
    """For a device that is not here."""
    play("first", cache, ScriptedEvaluator(outcomes=("verified",)))
    truth = ScriptedEvaluator(outcomes=("incorrect",))
    second, _, _ = play("second", cache, truth)
    assert len(truth.calls) == len({a.proposal.candidate.id for a in second.attempts()})
    assert {a.evaluation.outcome for a in second.attempts()} == {"incorrect"}
    assert second.outcome().best is None
    agreeing = ScriptedEvaluator(outcomes=("verified",))
    third, _, _ = play("third", cache, agreeing)
    assert len(agreeing.calls) == 1, "what does not become best is taken over"
    assert third.attempts()[third.outcome().best].evaluation.cached_from == ""


def test_a_figure_of_the_cache_that_no_final_measures_is_measured_here(play, cache):
    play("first", cache)
    second, spared, _ = play("second", cache, remeasurement={"enabled": False})
    best = second.attempts()[second.outcome().best].evaluation
    assert spared.calls and not best.cached_from
