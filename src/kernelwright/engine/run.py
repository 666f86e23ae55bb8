"""A run from its card to its outcome: search, finals, and an end for every way that a run can end.

An interruption, a broken referee, a machine or a device that is full and a proposer that gives up leave the best so far
behind, with the reason, in a run that can be resumed.

A strategy is lent what it learned in earlier runs, and adds to it at the end. The state that a run began with stands in
its own journal, and its hash on the card; so a resumed run asks the same again even where other runs have learned more.
It takes the schedule that it tries first from the tuning cache likewise, and leaves the one that won there.
"""

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from kernelwright.engine.cached_evaluator import CachedEvaluator, EnvironmentKey, remeasure_finalists
from kernelwright.engine.config import RunConfig
from kernelwright.engine.events import Finished, Listener, Phase, Warned, silent
from kernelwright.engine.gateway.models import Meter, ModelRouter
from kernelwright.engine.gateway.run_gateway import GatewayParts
from kernelwright.engine.gateway.toolbox import Library, Lowerings, Profiles, Toolbox, technique_cards
from kernelwright.engine.graph_scope import scope_of, with_language
from kernelwright.engine.journal import Journal
from kernelwright.engine.loop import search
from kernelwright.engine.predictor import Build, Predictor
from kernelwright.engine.progress import Aids, Progress
from kernelwright.errors import (
    KernelwrightError,
    MachineError,
    ModelError,
    ProposeError,
    RefereeError,
    StoreError,
    TaskError,
)
from kernelwright.evaluate.evaluator import Evaluator
from kernelwright.languages import language
from kernelwright.models.table import make_model
from kernelwright.propose.proposer import Proposer, Tuning
from kernelwright.records.attempt import Attempt, is_blurred, sure_speedup
from kernelwright.records.evaluation import Measured
from kernelwright.records.run import Outcome, RunCard, TuningEntry, TuningKey, state_id
from kernelwright.records.task import Task
from kernelwright.search.strategy import Limits, Strategy
from kernelwright.store.cache import EvaluationCache
from kernelwright.store.memory import StateKey, StrategyStates, TuningCache
from kernelwright.store.run import RunStore

MOST_PATIENCE_S = 600.0
"""Seconds for which disturbed finals are measured again, however long the search took."""
BREAKS = (MachineError, ModelError, ProposeError, RefereeError, TaskError)
"""What may end a search before its time. A full disk is the machine's; a full device makes the task too large to judge."""


@dataclass(frozen=True)
class Parts:
    """The swappable parts of a run."""

    proposer: Proposer
    evaluator: Evaluator
    listener: Listener = silent
    predictor: Predictor | None = None
    router: ModelRouter | None = None
    """Who answers when a proposer asks a model, closed by whoever opened it; None: nobody."""
    library: Library = technique_cards
    """Where techniques are looked up."""
    cache: EvaluationCache | None = None
    """What earlier runs found; None: nothing is taken over and nothing is left for later ones."""
    tuning: TuningCache | None = None
    """Where the schedule that won is left for later runs; None: nowhere."""
    states: StrategyStates | None = None
    """Where what the strategy learned is left for later runs; None: nowhere."""


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
        UsageError: the file of the graph that is walked cannot be taken.
    """
    journal = Journal(store, parts.listener)
    task, environment = store.card.task, store.card.environment
    config = _announce_language(with_language(task, environment, config), config, journal)
    judge = CachedEvaluator(
        parts.evaluator, journal, EnvironmentKey(task, environment, config.policy, store.card.id), parts.cache
    )
    router = parts.router or ModelRouter({}, make_model)
    aids = Aids(
        environment,
        parts.predictor,
        _builder(task, config, parts),
        _parts(task, config, parts, router, journal),
        store.card.yardstick,
        store.card.tuned,
    )
    progress = Progress(task, config, journal, aids)
    strategy = fresh_strategy(store, config)
    ending = await _end(strategy, parts, judge, progress, journal)
    if ending.outcome.complete and parts.states is not None:
        trouble = remember(strategy, store, config, parts.states)
        if trouble is not None:
            journal.emit(Warned(text=trouble))
    if ending.outcome.complete and parts.tuning is not None:
        final = ending.outcome.final
        if (trouble := keep_schedule(store.card, config, parts.proposer, final, parts.tuning)) is not None:
            journal.emit(Warned(text=trouble))
    store.finish(ending.outcome)
    journal.emit(Finished(outcome=ending.outcome))
    return ending


def _announce_language(settled: RunConfig, asked: RunConfig, journal: Journal) -> RunConfig:
    """The settled one; where the graph decided what is written, it says so."""
    if settled.language is not None and asked.language is None:
        title = language(settled.language).title
        journal.emit(Phase(text=f"writing {title}; for another language: --language"))
    return settled


def _builder(task: Task, config: RunConfig, parts: Parts) -> Build | None:
    if config.predictor is None or not config.predictor.build:
        return None
    return lambda candidate: parts.evaluator.build(task, candidate)


def _parts(
    task: Task, config: RunConfig, parts: Parts, router: ModelRouter, journal: Journal
) -> Callable[[Sequence[Attempt]], GatewayParts]:
    """Where this run's proposers ask; the calls that were recorded are on its meter already."""
    meter = Meter(config.budget)
    for reply in journal.replies():
        meter.count(reply)

    lowerings = Lowerings(task, parts.evaluator)
    tools = Toolbox(task, parts.evaluator, config.language, parts.library)

    def gateway_parts(attempts: Sequence[Attempt]) -> GatewayParts:
        profiles = Profiles(task, parts.evaluator, attempts)
        return GatewayParts(
            journal, router, meter, profiles.answer, tools.answer, config.withhold_feedback, lowerings.of
        )

    return gateway_parts


async def _end(
    strategy: Strategy, parts: Parts, judge: CachedEvaluator, progress: Progress, journal: Journal
) -> Ending:
    config = progress.config
    try:
        stopped = await _searched(strategy, parts, judge, progress)
        final = await _remeasurement(config, judge, progress, journal)
    except asyncio.CancelledError:
        return Ending(_partial(progress, progress.interrupted()), interrupted=True)
    except BREAKS as error:
        return Ending(_partial(progress, str(error)), error=error)
    return Ending(_outcome(progress, stopped, final, config.remeasurement.enabled))


async def _searched(strategy: Strategy, parts: Parts, judge: CachedEvaluator, progress: Progress) -> str:
    """Why the search ended; at the latest when its time on the wall's clock is over, whatever is in flight then."""
    limit_s = progress.config.budget.wall_s
    try:
        async with asyncio.timeout(limit_s) as limit:
            return await search(strategy, parts.proposer, judge, progress)
    except TimeoutError:
        if not limit.expired():
            raise
        return f"The budget of {limit_s:g} seconds is spent."


async def _remeasurement(
    config: RunConfig, judge: CachedEvaluator, progress: Progress, journal: Journal
) -> Attempt | None:
    if not config.remeasurement.enabled or progress.best is None or progress.best.latency_us is None:
        return None
    journal.emit(Phase(text="measuring the best again with fresh inputs", search_over=True))
    try:
        patience_s = min(progress.account.spent.device_s, MOST_PATIENCE_S)
        return await remeasure_finalists(judge, progress.attempts, config.remeasurement.finalists, patience_s)
    finally:
        await judge.close()


def _partial(progress: Progress, stopped: str) -> Outcome:
    best = progress.best.number if progress.best else None
    return Outcome(best=best, stopped=stopped, complete=False)


def _outcome(progress: Progress, stopped: str, final: Attempt | None, played: bool) -> Outcome:
    best = progress.best
    if final is not None:
        stands = isinstance(final.evaluation, Measured)
        return Outcome(best=final.number if stands else None, final=final, stopped=stopped)
    if best is not None and best.latency_us is not None and played:
        return Outcome(best=None, stopped=f"{stopped} No kernel stood when it was measured again.")
    return Outcome(best=best.number if best else None, stopped=stopped)


def create_run(folder: Path, card: RunCard, config: RunConfig, states: StrategyStates | None) -> RunStore:
    """A new run that begins with what its strategy learned before.

    Raises:
        StoreError: the folder holds a run already or cannot be written, or the states cannot be read.
    """
    state = states.read(state_key(card, config)) if states is not None else None
    return RunStore.create(folder, card.model_copy(update={"state": state_id(state)}), state)


def fresh_strategy(store: RunStore, config: RunConfig) -> Strategy:
    """The run's strategy as it stood when the run began.

    Raises:
        StoreError: the journal's state is not the card's, or the graph of techniques has changed.
        UsageError: the state is of another version of the strategy, or the graph's file cannot be taken.
    """
    scope = scope_of(store.card.task, store.card.environment, config)
    limits = Limits(proposals=config.budget.proposals, target_us=config.target_us, scope=scope)
    strategy = config.strategy.make(limits)
    state = store.state()
    if state is not None:
        strategy.restore(state)
    return strategy


def remember(strategy: Strategy, store: RunStore, config: RunConfig, states: StrategyStates) -> str | None:
    """Merge what a complete run has learned; returns what went wrong, which is no reason to lose the run."""
    ended, begun = strategy.state(), store.state()
    if ended is None:
        return None
    try:
        states.merge(state_key(store.card, config), store.card.id, lambda stored: strategy.merge(stored, begun, ended))
    except StoreError as error:
        return f"later runs will not know what this one learned: {error}"
    return None


def state_key(card: RunCard, config: RunConfig) -> StateKey:
    """What the state of a run is about: its strategy, its device, and what its task computes."""
    target = card.task.target
    device = card.environment.device.name if target.present else target.arch
    return StateKey(config.strategy.name, device, card.task.graph.family)


def with_tuned_schedule(card: RunCard, config: RunConfig, proposer: Proposer, cache: TuningCache | None) -> RunCard:
    """The card with the schedule that is tried first, where one is known."""
    key = _tuning_key(card, config, proposer)
    if cache is None or key is None or config.withhold_feedback:
        return card
    return card.model_copy(update={"tuned": cache.find(card.environment.device.name, key)})


def keep_schedule(
    card: RunCard, config: RunConfig, proposer: Proposer, best: Attempt | None, cache: TuningCache
) -> str | None:
    """Keep the schedule that won, if a clock says so; returns what went wrong, which is no reason to lose the run."""
    key = _tuning_key(card, config, proposer)
    if best is None or key is None or is_blurred(best) or sure_speedup(best) <= 1.0:
        return None
    schedule = proposer.schedule_of(best) if isinstance(proposer, Tuning) else None
    if schedule is None:
        return None
    chosen = {define.name.lower(): define.value for define in best.proposal.candidate.defines}
    entry = TuningEntry(
        key=key,
        device=card.environment.device.name,
        schedule=schedule | {name: value for name, value in chosen.items() if name in schedule},
        speedup=sure_speedup(best),
        task=card.task.name,
        run=card.id,
    )
    try:
        cache.keep(entry)
    except StoreError as error:
        return f"later runs will not try this schedule first: {error}"
    return None


def _tuning_key(card: RunCard, config: RunConfig, proposer: Proposer) -> TuningKey | None:
    """What a schedule would be good for; None where nothing is timed, or the run keeps to itself."""
    if not (config.cache and card.task.target.present and isinstance(proposer, Tuning)):
        return None
    return proposer.tuning_key(card.task, config.language)
