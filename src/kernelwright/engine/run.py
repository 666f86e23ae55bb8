"""A run from its card to its outcome: search, finals, and an end for every way that a run can end.

Decides what an interruption, a broken referee and a proposer that gives up leave behind: the best so
far, with the reason, in a run that can be resumed.
"""

import asyncio
from dataclasses import dataclass

from kernelwright.engine.config import RunConfig
from kernelwright.engine.events import Finished, Listener, Phase, silent
from kernelwright.engine.finals import play_finals
from kernelwright.engine.journal import Journal
from kernelwright.engine.judge import Circumstances, Judge
from kernelwright.engine.loop import search
from kernelwright.engine.predictor import Predictor
from kernelwright.engine.progress import Progress
from kernelwright.errors import KernelwrightError, ProposeError, RefereeError
from kernelwright.evaluate.evaluator import Evaluator
from kernelwright.propose.proposer import Proposer
from kernelwright.records.attempt import Attempt
from kernelwright.records.run import Outcome
from kernelwright.search.limits import Limits
from kernelwright.search.table import make_strategy
from kernelwright.store.cache import EvaluationCache
from kernelwright.store.run import RunStore

INTERRUPTED = "Interrupted."


@dataclass(frozen=True)
class Parts:
    """The swappable parts of a run."""

    proposer: Proposer
    evaluator: Evaluator
    listener: Listener = silent
    predictor: Predictor | None = None
    cache: EvaluationCache | None = None
    """What earlier runs found; None: nothing is taken over and nothing is left for later ones."""


@dataclass(frozen=True)
class Ending:
    """How a run ended."""

    outcome: Outcome
    error: KernelwrightError | None = None
    """What broke; the outcome still has the best so far."""
    interrupted: bool = False


async def run(store: RunStore, config: RunConfig, parts: Parts) -> Ending:
    """Run, or go on with, what the store's card says.

    Raises:
        StoreError: the journal cannot be written, or disagrees with what would be done now.
    """
    journal = Journal(store, parts.listener)
    task, environment = store.card.task, store.card.environment
    judge = Judge(parts.evaluator, journal, Circumstances(task, environment, config.policy, store.card.id), parts.cache)
    progress = Progress(task, config, journal, parts.predictor)
    ending = await _end(config, parts, judge, progress, journal)
    store.finish(ending.outcome)
    journal.emit(Finished(outcome=ending.outcome))
    return ending


async def _end(config: RunConfig, parts: Parts, judge: Judge, progress: Progress, journal: Journal) -> Ending:
    strategy = make_strategy(config.strategy, Limits(proposals=config.budget.proposals, target_us=config.target_us))
    try:
        stopped = await search(strategy, parts.proposer, judge, progress)
        final = await _finals(config, judge, progress, journal)
    except asyncio.CancelledError:
        return Ending(_partial(progress, INTERRUPTED), interrupted=True)
    except (ProposeError, RefereeError) as error:
        return Ending(_partial(progress, str(error)), error=error)
    return Ending(_outcome(progress, stopped, final, config.finals.enabled))


async def _finals(config: RunConfig, judge: Judge, progress: Progress, journal: Journal) -> Attempt | None:
    if not config.finals.enabled or progress.best is None or progress.best.latency_us is None:
        return None
    journal.emit(Phase(text="measuring the best again with fresh inputs"))
    try:
        return await play_finals(judge, progress.attempts, config.finals.finalists)
    finally:
        await judge.close()


def _partial(progress: Progress, stopped: str) -> Outcome:
    best = progress.best.number if progress.best else None
    return Outcome(best=best, stopped=stopped, complete=False)


def _outcome(progress: Progress, stopped: str, final: Attempt | None, played: bool) -> Outcome:
    best = progress.best
    if final is not None:
        return Outcome(best=final.number, final=final, stopped=stopped)
    if best is not None and best.latency_us is not None and played:
        return Outcome(best=None, stopped=f"{stopped} No kernel stood when it was measured again.")
    return Outcome(best=best.number if best else None, stopped=stopped)
