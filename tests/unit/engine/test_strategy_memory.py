"""A strategy with a memory, from run to run: what it learned, what a resumed run begins with, and what is counted once."""

import asyncio
from contextlib import closing
from dataclasses import replace

import pytest

from kernelwright.engine.config import RunConfig
from kernelwright.engine.request import OptimizeRequest
from kernelwright.engine.run import Parts, create_run, run, state_key
from kernelwright.engine.session import begin, play_in
from kernelwright.records.run import state_id
from kernelwright.search.table import STRATEGIES
from kernelwright.store.memory import StrategyStates
from kernelwright.store.run import RunStore
from kernelwright.testing.samples import SOURCE, sample_card
from kernelwright.testing.scripted import ScriptedEvaluator, ScriptedProposer, scripted_suppliers
from remembering import enter


@pytest.fixture(autouse=True)
def bandit(monkeypatch):
    monkeypatch.setattr("kernelwright.search.table.STRATEGIES", table := dict(STRATEGIES))
    enter(table)


@pytest.fixture
def states(tmp_path):
    return StrategyStates(tmp_path / "states.sqlite")


def settings(**more):
    config = {"strategy": {"name": "bandit"}, "budget": {"proposals": 4}, "remeasurement": {"enabled": False}}
    return RunConfig.model_validate(config | more)


CARD = sample_card()


def begun(folder, states, config=None):
    card = CARD.model_copy(update={"id": folder.name})
    return create_run(folder, card, config or settings(), states)


def played(store, states, config=None, listener=lambda event: None, evaluator=None):
    parts = Parts(ScriptedProposer(), evaluator or ScriptedEvaluator(seed=1), listener, states=states)
    return asyncio.run(run(store, config or settings(), parts))


def pulls(states):
    arms = states.read(state_key(CARD, settings()))["arms"]
    return sum(arm["pulls"] for arm in arms.values())


def test_each_run_begins_with_what_the_ones_before_it_learned(states, tmp_path):
    for number in range(3):
        with closing(begun(tmp_path / str(number), states)) as store:
            assert (store.state() is None) == (number == 0)
            assert store.card.state == state_id(store.state())
            played(store, states)
        assert pulls(states) == 4 * (number + 1)


def test_a_strategy_asks_differently_for_what_it_remembers(states, tmp_path):
    with closing(begun(tmp_path / "first", states)) as store:
        played(store, states)
        first = [e.hint for e in store.proposal_requests()]
    with closing(begun(tmp_path / "second", states)) as store:
        played(store, states)
        second = [e.hint for e in store.proposal_requests()]
    assert first[0] == "tile"
    assert second[0] == "vectorise", "the better one by what the first run was told"
    assert second != first


def test_a_resumed_run_asks_the_same_although_others_have_learned_since(states, tmp_path):
    with closing(begun(tmp_path / "0", states)) as store:
        played(store, states)
    with closing(begun(tmp_path / "calm", states)) as store:
        state = store.state()
    with closing(RunStore.open(tmp_path / "calm", writing=True)) as store:
        played(store, None)
        calm = store.proposal_requests()
    broken = begun(tmp_path / "broken", states)
    ending = played(broken, states, evaluator=BreaksLater(seed=1))
    assert not ending.outcome.complete
    assert pulls(states) == 4, "an unfinished run leaves nothing"
    broken.close()
    for number in range(2):
        with closing(begun(tmp_path / f"other{number}", states)) as store:
            played(store, states)
    with closing(RunStore.open(tmp_path / "broken", writing=True)) as store:
        assert store.state() == state != states.read(state_key(CARD, settings()))
        assert played(store, states).outcome.complete
        assert store.proposal_requests() == calm
    assert pulls(states) == 4 * 4


def test_two_runs_side_by_side_lose_nothing(states, tmp_path):
    stores = [begun(tmp_path / name, states) for name in ("one", "other")]
    for store in stores:
        played(store, states)
        store.close()
    assert pulls(states) == 8


def test_a_run_that_is_played_again_counts_once(states, tmp_path):
    for _ in range(2):
        store = (
            RunStore.open(tmp_path / "r", writing=True) if (tmp_path / "r").exists() else begun(tmp_path / "r", states)
        )
        with closing(store):
            played(store, states)
    assert pulls(states) == 4


def test_a_memory_that_cannot_be_written_costs_no_run(states, tmp_path):
    events = []
    with closing(begun(tmp_path / "r", states)) as store:
        states.file.write_text("no database " * 100)
        ending = played(store, states, listener=events.append)
    assert ending.outcome.complete
    assert any("will not know" in event.text for event in events if event.kind == "warned")


@pytest.mark.parametrize("width", [1, 3])
def test_timing_never_decides_what_is_learned(states, tmp_path, width):
    config = settings(strategy={"name": "bandit", "width": width}, in_flight=4, budget={"proposals": 12})
    asked = []
    for delay in (0.0, 0.01):
        with closing(begun(tmp_path / f"{delay}", None, config)) as store:
            played(store, None, config, evaluator=ScriptedEvaluator(seed=1, delay_s=delay))
            asked.append(store.proposal_requests())
    assert asked[0] == asked[1]
    assert len({e.hint for e in asked[0]}) == 2


def test_shipped_strategies_leave_no_file(states, tmp_path):
    config = settings(strategy={"name": "fsr", "n": 2})
    with closing(begun(tmp_path / "r", states, config)) as store:
        played(store, states, config)
        assert store.card.state == ""
    assert not states.file.exists()


def test_a_command_begins_with_the_memory_and_a_cell_of_a_comparison_without(states, tmp_path):
    (tmp_path / "abs.py").write_text(SOURCE)
    request = OptimizeRequest(tmp_path / "abs.py", "cpu", settings(), tmp_path / "runs")
    suppliers = replace(scripted_suppliers(), states=lambda: states)
    for _ in range(2):
        asyncio.run(begin(request, suppliers))
    remembered = [run_card(folder).state for folder in (tmp_path / "runs").iterdir()]
    assert sorted(map(bool, remembered)) == [False, True]
    asyncio.run(play_in(tmp_path / "cell", CARD.task, settings(), ScriptedEvaluator(), suppliers))
    assert run_card(tmp_path / "cell").state == ""
    assert pulls(states) == 8


def run_card(folder):
    with closing(RunStore.open(folder)) as store:
        return store.card


class BreaksLater(ScriptedEvaluator):
    async def evaluate(self, task, candidate, effort="search"):
        self.breaks = 9 if len(self.calls) >= 2 else 0
        return await super().evaluate(task, candidate, effort)
