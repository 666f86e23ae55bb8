"""Judge: the referee, asked at most once for each question; the sweep of tunables, and the finals.

The same candidate in the same environment is known, even while it is still being evaluated; a search also takes over
what earlier runs found. If the referee itself breaks, it is asked once more.

The sweep compares structure with structure, not with luck in a constant: every point is a sample charged to device
seconds, within the budget. It ends early where a few points say that this structure is far behind. Finals measure the best
few again, because a search picks its best by figures that were lucky enough to be picked, and only that figure is
published: the finalist stands if its new figure still beats what the search saw of the next one; otherwise the next is
measured too and the better one wins. A finalist that is no longer right is out.
"""

import asyncio
import random
import sys
from collections.abc import Sequence
from math import prod
from typing import NamedTuple

from kernelwright.engine.events import Warned
from kernelwright.engine.journal import Journal
from kernelwright.errors import RefereeError
from kernelwright.evaluate.evaluator import Evaluator
from kernelwright.records.attempt import Attempt, Cost, Proposal, Setting, sure_speedup
from kernelwright.records.candidate import Candidate
from kernelwright.records.evaluation import Evaluation, Measured, merit
from kernelwright.records.policy import Effort, Policy
from kernelwright.records.run import Environment
from kernelwright.records.task import Task
from kernelwright.store.cache import EvaluationCache, confined, evaluation_key

LOOK, TOLD, FAR = 4, 2, 2.0
"""Points after which a sweep is looked at, of which so many have a time, and how many times the best kernel's time the best
of them may take."""


class EnvironmentKey(NamedTuple):
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


class CachedEvaluator:
    """Evaluations by key, each one really made once."""

    def __init__(
        self,
        evaluator: Evaluator,
        journal: Journal,
        environment_key: EnvironmentKey,
        cache: EvaluationCache | None = None,
    ) -> None:
        self._evaluator = evaluator
        self._journal = journal
        self._environment_key = environment_key
        self._cache = cache
        self._warned = False
        self._running: dict[str, asyncio.Task[Evaluation]] = {}

    async def judge(self, candidate: Candidate, effort: Effort = "search") -> Judgement:
        """The verdict on a candidate: recorded, being made, or made now.

        Raises:
            RefereeError: the referee broke twice in a row.
        """
        task, environment, policy, _ = self._environment_key
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
            found = await self._evaluator.evaluate(self._environment_key.task, candidate, effort)
        except RefereeError:
            found = await self._evaluator.evaluate(self._environment_key.task, candidate, effort)
        self._journal.evaluated(key, found)
        if self._cache is not None and effort == "search":
            self._cache.keep(confined(key, self._environment_key.environment), self._environment_key.run, found)
            self._warn()
        return found

    def _cached(self, key: str) -> Evaluation | None:
        """What an earlier run found, journaled as this run's own, with where it is from."""
        if self._cache is None:
            return None
        kept = self._cache.find(confined(key, self._environment_key.environment))
        self._warn()
        if kept is None:
            return None
        found = kept.evaluation.model_copy(update={"cached_from": kept.run})
        self._journal.evaluated(key, found)
        return found

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


class Tuned(NamedTuple):
    """A proposal after the referee: its tunables fixed at the best point, and all that was tried."""

    proposal: Proposal
    verdict: Judgement
    tried: tuple[Judgement, ...]
    settings: tuple[Setting, ...] = ()
    """What was tried, point by point; empty where there was only one."""


async def autotune(
    judge: CachedEvaluator, proposal: Proposal, points: int, allowance_s: float, best_us: float | None = None
) -> Tuned:
    """Evaluate at most `points` settings while device seconds are left; the default one always.

    No more than a few where they stay far behind `best_us`, the time of the best kernel as this one was asked for.

    Raises:
        RefereeError: the referee broke.
    """
    best: tuple[Candidate, Judgement] | None = None
    tried: list[Judgement] = []
    settings: list[Setting] = []
    for candidate in choose_points(proposal.candidate, points):
        spent_s = sum(found.evaluation.paid_seconds for found in tried)
        if best is not None and (spent_s >= allowance_s or _far_behind(settings, best_us)):
            break
        found = await judge.judge(candidate)
        tried.append(found)
        settings.append(_setting(candidate, found.evaluation))
        if best is None or merit(found.evaluation) > merit(best[1].evaluation):
            best = candidate, found
    assert best is not None
    several = tuple(settings) if len(settings) > 1 else ()
    return Tuned(proposal.model_copy(update={"candidate": best[0]}), best[1], tuple(tried), several)


def _far_behind(settings: Sequence[Setting], best_us: float | None) -> bool:
    times = [setting.latency_us for setting in settings if setting.latency_us is not None]
    return best_us is not None and len(settings) >= LOOK and len(times) >= TOLD and min(times) > FAR * best_us


def _setting(candidate: Candidate, found: Evaluation) -> Setting:
    values = {define.name: define.value for define in candidate.defines}
    latency = found.timing.latency_us if isinstance(found, Measured) else None
    return Setting(values=values, outcome=found.outcome, latency_us=latency)


def choose_points(candidate: Candidate, limit: int) -> list[Candidate]:
    """All settings or a sample, the default one first and the others in an order that depends on the candidate alone."""
    total = prod(len(tunable.values) for tunable in candidate.tunables)
    others = _drawn(random.Random(candidate.id), total, min(limit, total) - 1)
    return [candidate.point(index) for index in (0, *others)]


def _drawn(generator: random.Random, total: int, count: int) -> Sequence[int]:
    """So many different places after the first; a space may have more of them than a `range` can count."""
    if total <= sys.maxsize:
        return generator.sample(range(1, total), count)
    return tuple({generator.randrange(1, total): None for _ in range(count)})


async def remeasure_finalists(judge: CachedEvaluator, attempts: Sequence[Attempt], finalists: int) -> Attempt | None:
    """The winner with its final evaluation; None when nothing was measured or no finalist stood.

    Raises:
        RefereeError: the referee broke.
    """
    ranked = rank_distinct(attempts)
    winner: Attempt | None = None
    for place, attempt in enumerate(ranked):
        final = await _measure_again(judge, attempt)
        if isinstance(final.evaluation, Measured) and (winner is None or sure_speedup(final) > sure_speedup(winner)):
            winner = final
        following = sure_speedup(ranked[place + 1]) if place + 1 < len(ranked) else 0.0
        if winner is not None and (sure_speedup(winner) >= following or place + 1 >= finalists):
            break
    return winner


def rank_distinct(attempts: Sequence[Attempt]) -> list[Attempt]:
    """Measured attempts, best first, each candidate once."""
    measured = (a for a in attempts if isinstance(a.evaluation, Measured))
    first: dict[str, Attempt] = {}
    for attempt in sorted(measured, key=lambda a: (-sure_speedup(a), a.number)):
        first.setdefault(attempt.proposal.candidate.id, attempt)
    return list(first.values())


async def _measure_again(judge: CachedEvaluator, attempt: Attempt) -> Attempt:
    _, evaluation = await judge.judge(attempt.proposal.candidate, "final")
    cost = Cost(proposals=0, device_s=evaluation.total_seconds)
    return attempt.model_copy(update={"evaluation": evaluation, "known": None, "cost": cost})
