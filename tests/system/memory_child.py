"""Begins or resumes a run of a strategy with a memory, and kills itself where it is told: FOLDER STATES SEAM."""

import asyncio
import os
import signal
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from kernelwright.engine.config import RunConfig
from kernelwright.engine.run import Parts, create_run, run
from kernelwright.store.database import FILE
from kernelwright.store.memory import StrategyStates
from kernelwright.store.run import RunStore
from kernelwright.testing.samples import sample_card
from kernelwright.testing.scripted import ScriptedEvaluator, ScriptedProposer
from remembering import enter


class Deadly(StrategyStates):
    """Dies at a seam of the merge."""

    def __init__(self, file, seam):
        super().__init__(file)
        self._seam = seam

    def merge(self, key, run, learned):
        self._die("before")
        super().merge(key, run, lambda stored: (learned(stored), self._die("within"))[0])
        self._die("after")

    def _die(self, here):
        if self._seam == here:
            os.kill(os.getpid(), signal.SIGKILL)


class DeadlyEvaluator(ScriptedEvaluator):
    """Dies in the middle of the search."""

    async def evaluate(self, task, candidate, effort="search"):
        if len(self.calls) == 2:
            os.kill(os.getpid(), signal.SIGKILL)
        return await super().evaluate(task, candidate, effort)


def main(folder, file, seam):
    """One life of the run."""
    enter()
    settings = {"strategy": {"name": "bandit"}, "budget": {"proposals": 4}, "remeasurement": {"enabled": False}}
    config, states = RunConfig.model_validate(settings), Deadly(file, seam)
    if (folder / FILE).exists():
        store = RunStore.open(folder, writing=True)
    else:
        store = create_run(folder, sample_card().model_copy(update={"id": folder.name}), config, states)
    evaluator = (DeadlyEvaluator if seam == "search" else ScriptedEvaluator)(seed=1)
    ending = asyncio.run(run(store, config, Parts(ScriptedProposer(qualities=10**9), evaluator, states=states)))
    store.close()
    assert ending.outcome.complete


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]), sys.argv[3])
