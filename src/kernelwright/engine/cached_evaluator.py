"""Judge: the referee, asked at most once for each question; the sweep of tunables, and the finals.

The same candidate in the same environment is known, even while it is still being evaluated; a search also takes over
what earlier runs found. If the referee itself breaks, it is asked once more.

The sweep compares structure with structure, not with luck in a constant: every point is a sample charged to device
seconds, within the budget. It ends early where a few points say that this structure is far behind. Finals measure the best
few again, because a search picks its best by figures that were lucky enough to be picked, and only that figure is
published: the finalist stands if its new figure still beats what the search saw of the next one; otherwise the next is
measured too and the better one wins. A finalist that is no longer right is out. One that other work on the machine disturbed
is measured again, for as long as the search took; a run that ends so is measured once more whenever it is resumed.
"""

import asyncio
import random
import sys
from collections.abc import Callable, Sequence
from itertools import count
from math import prod
from typing import NamedTuple

from kernelwright.engine.events import Phase, Warned
from kernelwright.engine.journal import Journal
from kernelwright.errors import RefereeError
from kernelwright.evaluate.evaluator import Evaluator
from kernelwright.records.answer import answer_of, busy
from kernelwright.records.attempt import Attempt, Cost, Proposal, Setting, sure_speedup
from kernelwright.records.candidate import Candidate
from kernelwright.records.evaluation import Evaluation, Incorrect, Measured, Suspect, is_right, merit
from kernelwright.records.policy import Effort, Policy
from kernelwright.records.run import Environment
from kernelwright.records.task import Task
from kernelwright.store.cache import EvaluationCache, evaluation_key, isolation_key

MOST_AGAIN = 20
"""Times that one disturbed final is measured again."""
DISTURBED = "other work on this machine disturbed the measurement; measuring once more"
LOOK, TIMED, FAR = 4, 2, 2.0
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
    recorded: bool = False
    """It was found in the journal or the cache, and not made now."""


class KnownVerdicts:
    """A cache under whoever asks a referee: it is opened at the first question, in the thread that asks (SQLite's are one's).

    That the cache is of no use is told once.
    """

    def __init__(self, open_cache: Callable[[], EvaluationCache | None], run: str, warn: Callable[[str], None]) -> None:
        """Open nothing yet; `run` is what the cache tells others of where a verdict is from."""
        self._open, self._run, self._warn = open_cache, run, warn
        self._cache: EvaluationCache | None = None
        self._opened = self._warned = False

    def find(self, key: str, environment: Environment) -> Evaluation | None:
        """What is known, with the run that found it."""
        cache = self._ready()
        kept = cache.find(isolation_key(key, environment)) if cache is not None else None
        self._tell()
        return kept.evaluation.model_copy(update={"cached_from": kept.run}) if kept else None

    def keep(self, key: str, environment: Environment, found: Evaluation) -> None:
        """Keep what was found, for others."""
        if (cache := self._ready()) is not None:
            cache.keep(isolation_key(key, environment), self._run, found)
        self._tell()

    def close(self) -> None:
        """Close the cache, in the thread that asked."""
        if self._cache is not None:
            self._cache.close()

    def _ready(self) -> EvaluationCache | None:
        if not self._opened:
            self._cache, self._opened = self._open(), True
        return self._cache

    def _tell(self) -> None:
        if self._cache is not None and self._cache.trouble and not self._warned:
            self._warned = True
            self._warn(self._cache.trouble)


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
        self._known = KnownVerdicts(lambda: cache, environment_key.run, lambda text: journal.emit(Warned(text=text)))
        self._running: dict[str, asyncio.Task[Evaluation]] = {}

    async def judge(self, candidate: Candidate, effort: Effort = "search", again: int = 0) -> Judgement:
        """The verdict on a candidate: recorded, being made, or made now; `again` counts from the first time that it was asked.

        Raises:
            RefereeError: the referee broke twice in a row.
        """
        task, environment, policy, _ = self._environment_key
        key = evaluation_key(task, candidate, environment, policy, effort) + (f" again {again}" if again else "")
        known = self._journal.evaluation(key)
        if known is None and effort == "search" and not again and key not in self._running:
            known = self._known.find(key, environment)
            if known is not None:
                self._journal.evaluated(key, known)
        if known is not None:
            return Judgement(key, known, recorded=True)
        if key not in self._running:
            kept = effort == "search" and not again
            self._running[key] = asyncio.create_task(self._evaluate(key, candidate, effort, kept))
        return Judgement(key, await self._running[key])

    async def _evaluate(self, key: str, candidate: Candidate, effort: Effort, kept: bool) -> Evaluation:
        try:
            found = await self._evaluator.evaluate(self._environment_key.task, candidate, effort)
        except RefereeError:
            found = await self._evaluator.evaluate(self._environment_key.task, candidate, effort)
        self._journal.evaluated(key, found)
        if kept:
            self._known.keep(key, self._environment_key.environment, found)
        return found

    def tell(self, text: str) -> None:
        """Say what is waited for."""
        self._journal.emit(Phase(text=text, search_over=True))

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


async def confirmed(judge: CachedEvaluator, tuned: Tuned, best: Attempt | None, finals: bool) -> Tuned:
    """The same, judged here if it is about to become the best by what a cache says, and no final would judge it again.

    Raises:
        RefereeError: the referee broke.
    """
    said = tuned.verdict.evaluation
    better = is_right(said) and (best is None or merit(said) > merit(best.evaluation))
    if not said.cached_from or not better or (finals and isinstance(said, Measured)):
        return tuned
    _, evaluation, recorded = await judge.judge(tuned.proposal.candidate, again=1)
    here = Judgement(tuned.verdict.key, evaluation, recorded)
    return tuned._replace(verdict=here, tried=tuple(here if one.key == here.key else one for one in tuned.tried))


def _far_behind(settings: Sequence[Setting], best_us: float | None) -> bool:
    times = [setting.latency_us for setting in settings if setting.latency_us is not None]
    return best_us is not None and len(settings) >= LOOK and len(times) >= TIMED and min(times) > FAR * best_us


def _setting(candidate: Candidate, found: Evaluation) -> Setting:
    values = {define.name: define.value for define in candidate.defines}
    latency = found.timing.latency_us if isinstance(found, Measured) else None
    return Setting(values=values, outcome=found.outcome, latency_us=latency, why=_why(found))


def _why(found: Evaluation) -> str:
    """Why it has no time that counts, or a doubtful one."""
    load = found.load if isinstance(found, Suspect) else busy(found)
    if load is not None and load.busy:
        return "this machine was busy"
    return found.because.replace("_", " ") if isinstance(found, Suspect | Incorrect) else ""


def choose_points(candidate: Candidate, limit: int) -> list[Candidate]:
    """All settings or a sample, the default one first and the others in an order that depends on the candidate alone."""
    total = prod(len(tunable.values) for tunable in candidate.tunables)
    others = _sample_indices(random.Random(candidate.id), total, min(limit, total) - 1)
    return [candidate.point(index) for index in (0, *others)]


def _sample_indices(generator: random.Random, total: int, count: int) -> Sequence[int]:
    """So many different places after the first; a space may have more of them than a `range` can count."""
    if total <= sys.maxsize:
        return generator.sample(range(1, total), count)
    return tuple({generator.randrange(1, total): None for _ in range(count)})


async def remeasure_finalists(
    judge: CachedEvaluator, attempts: Sequence[Attempt], finalists: int, patience_s: float = 0.0
) -> Attempt | None:
    """The winner with its final evaluation; where none stood, one that was disturbed; None where there is none of these.

    Args:
        judge: asks the referee.
        attempts: of the search.
        finalists: most candidates that are measured again.
        patience_s: device seconds for which disturbed finals are measured again here, each of them once at least.

    Raises:
        RefereeError: the referee broke.
    """
    ranked = rank_distinct(attempts)
    winner, disturbed = None, None
    for place, attempt in enumerate(ranked):
        final, spent_s = await _measure_again(judge, attempt, patience_s)
        patience_s -= spent_s
        if answer_of(final.evaluation) == "disturbed":
            disturbed = disturbed or final
        if isinstance(final.evaluation, Measured) and (winner is None or sure_speedup(final) > sure_speedup(winner)):
            winner = final
        following = sure_speedup(ranked[place + 1]) if place + 1 < len(ranked) else 0.0
        if winner is not None and (sure_speedup(winner) >= following or place + 1 >= finalists):
            break
    return winner or disturbed


def rank_distinct(attempts: Sequence[Attempt]) -> list[Attempt]:
    """Measured attempts, best first, each candidate once."""
    measured = (a for a in attempts if isinstance(a.evaluation, Measured))
    first: dict[str, Attempt] = {}
    for attempt in sorted(measured, key=lambda a: (-sure_speedup(a), a.number)):
        first.setdefault(attempt.proposal.candidate.id, attempt)
    return list(first.values())


async def _measure_again(judge: CachedEvaluator, attempt: Attempt, patience_s: float) -> tuple[Attempt, float]:
    """The attempt as a final, and the seconds that repeating it took here. Recorded ones take no patience."""
    made, spent_s, cost_s = 0, 0.0, 0.0
    for again in count():
        _, evaluation, recorded = await judge.judge(attempt.proposal.candidate, "final", again)
        cost_s += evaluation.total_seconds
        if again and not recorded:
            made, spent_s = made + 1, spent_s + evaluation.total_seconds
        over = made == MOST_AGAIN or (made and spent_s >= patience_s)
        if answer_of(evaluation) != "disturbed" or over:
            break
        judge.tell(DISTURBED)
    cost = Cost(proposals=0, device_s=cost_s)
    return attempt.model_copy(update={"evaluation": evaluation, "known": None, "cost": cost}), spent_s
