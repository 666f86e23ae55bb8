"""Judge: the referee, asked at most once for each question.

The same candidate in the same environment is known, even while it is still being evaluated; a search also takes over
what earlier runs found. If the referee itself breaks, it is asked once more.
"""

import asyncio
from typing import NamedTuple

from kernelwright.engine.events import Warned
from kernelwright.engine.journal import Journal
from kernelwright.errors import RefereeError
from kernelwright.evaluate.evaluator import Evaluator
from kernelwright.records.candidate import Candidate
from kernelwright.records.evaluation import Evaluation
from kernelwright.records.policy import Effort, Policy
from kernelwright.records.run import Environment
from kernelwright.records.task import Task
from kernelwright.store.cache import EvaluationCache
from kernelwright.store.key import evaluation_key


class Circumstances(NamedTuple):
    """What a verdict depends on beside the candidate."""

    task: Task
    environment: Environment
    policy: Policy
    run: str = ""
    """Id of the run that asks; the cache tells it to later ones."""


class Judgement(NamedTuple):
    """A verdict under its key."""

    key: str
    evaluation: Evaluation


class Judge:
    """Evaluations by key, each one really made once."""

    def __init__(
        self,
        evaluator: Evaluator,
        journal: Journal,
        circumstances: Circumstances,
        cache: EvaluationCache | None = None,
    ) -> None:
        self._evaluator = evaluator
        self._journal = journal
        self._circumstances = circumstances
        self._cache = cache
        self._warned = False
        self._running: dict[str, asyncio.Task[Evaluation]] = {}

    async def judge(self, candidate: Candidate, effort: Effort = "search") -> Judgement:
        """The verdict on a candidate: recorded, being made, or made now.

        Raises:
            RefereeError: the referee broke twice in a row.
        """
        task, environment, policy, _ = self._circumstances
        key = evaluation_key(task, candidate, environment, policy, effort)
        known = self._journal.evaluation(key)
        if known is None and effort == "search" and key not in self._running:
            known = self._cached(key)
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
        if self._cache is not None and effort == "search":
            self._cache.keep(self._confined(key), self._circumstances.run, found)
            self._warn()
        return found

    def _cached(self, key: str) -> Evaluation | None:
        """What an earlier run found, journaled as this run's own, with where it is from."""
        if self._cache is None:
            return None
        kept = self._cache.find(self._confined(key))
        self._warn()
        if kept is None:
            return None
        found = kept.evaluation.model_copy(update={"cached_from": kept.run})
        self._journal.evaluated(key, found)
        return found

    def _confined(self, key: str) -> str:
        """The key in the cache: what a weaker sandbox let pass is not taken over by a stronger one."""
        return f"{key} {' '.join(sorted(self._circumstances.environment.isolation))}"

    def _warn(self) -> None:
        """Tell once that the cache is of no use."""
        if self._cache is not None and self._cache.trouble and not self._warned:
            self._warned = True
            self._journal.emit(Warned(text=self._cache.trouble))

    async def close(self) -> None:
        """Stop what is still being evaluated."""
        for running in self._running.values():
            running.cancel()
        await asyncio.gather(*self._running.values(), return_exceptions=True)
