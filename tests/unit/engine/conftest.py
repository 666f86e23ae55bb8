"""A scripted run in one call."""

import asyncio
from itertools import count

import pytest

from kernelwright.engine.config import RunConfig
from kernelwright.engine.run import Parts, run
from kernelwright.store.run import RunStore
from kernelwright.testing.samples import sample_card
from kernelwright.testing.scripted import ScriptedEvaluator, ScriptedProposer


class Played:
    """What a run left behind."""

    def __init__(self, ending, store, events, parts):
        self.ending, self.outcome, self.events = ending, ending.outcome, events
        self.attempts, self.folder, self.store = store.attempts(), store.folder, store
        self.calls, self.briefs = parts.evaluator.calls, getattr(parts.proposer, "briefs", ())

    def of(self, kind):
        return [event for event in self.events if event.kind == kind]


@pytest.fixture
def play(tmp_path):
    numbers, stores = count(), []

    def play(evaluator=None, proposer=None, folder=None, forecaster=None, router=None, **settings):
        for store in stores:
            store.close()
        if folder is None:
            store = RunStore.create(tmp_path / str(next(numbers)), sample_card())
        else:
            store = RunStore.open(folder, writing=True)
        stores.append(store)
        events = []
        evaluator = evaluator or ScriptedEvaluator(outcomes=("measured",))
        parts = Parts(proposer or ScriptedProposer(), evaluator, events.append, forecaster, router=router)
        ending = asyncio.run(run(store, RunConfig.model_validate(settings), parts))
        return Played(ending, store, events, parts)

    yield play
    for store in stores:
        store.close()
