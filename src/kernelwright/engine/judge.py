"""Judge: the referee, asked at most once for each question.

Decides reuse (the same candidate under the same circumstances is known, also while it is still being
evaluated) and the one retry after the referee itself broke. Refuses to know what a verdict is good for.
"""

import asyncio
from typing import NamedTuple

from kernelwright.engine.journal import Journal
from kernelwright.errors import RefereeError
from kernelwright.evaluate.evaluator import Evaluator
from kernelwright.records.candidate import Candidate
from kernelwright.records.evaluation import Evaluation
from kernelwright.records.policy import Effort, Policy
from kernelwright.records.run import Environment
from kernelwright.records.task import Task
from kernelwright.store.key import evaluation_key


class Circumstances(NamedTuple):
    """What a verdict depends on beside the candidate."""

    task: Task
    environment: Environment
    policy: Policy


class Judgement(NamedTuple):
    """A verdict under its key."""

    key: str
    evaluation: Evaluation


class Judge:
    """Evaluations by key, each one really made once."""

    def __init__(self, evaluator: Evaluator, journal: Journal, circumstances: Circumstances) -> None:
        self._evaluator = evaluator
        self._journal = journal
        self._circumstances = circumstances
        self._running: dict[str, asyncio.Task[Evaluation]] = {}

    async def judge(self, candidate: Candidate, effort: Effort = "search") -> Judgement:
        """The verdict on a candidate: recorded, being made, or made now.

        Raises:
            RefereeError: the referee broke twice in a row.
        """
        task, environment, policy = self._circumstances
        key = evaluation_key(task, candidate, environment, policy, effort)
        known = self._journal.evaluation(key)
        if known is not None:
            return Judgement(key, known)
        if key not in self._running:
            self._running[key] = asyncio.create_task(self._evaluate(key, candidate, effort))
        return Judgement(key, await self._running[key])

    async def _evaluate(self, key: str, candidate: Candidate, effort: Effort) -> Evaluation:
        try:
            found = await self._evaluator.evaluate(self._circumstances.task, candidate, effort)
        except RefereeError:
            found = await self._evaluator.evaluate(self._circumstances.task, candidate, effort)
        self._journal.evaluated(key, found)
        return found

    async def close(self) -> None:
        """Stop what is still being evaluated."""
        for running in self._running.values():
            running.cancel()
        await asyncio.gather(*self._running.values(), return_exceptions=True)
