"""Suppliers: where the replaceable parts come from. Tests and other programs give their own.

The defaults are the referee of this machine, the table of proposers, and the HTML report.
"""

from collections.abc import AsyncIterator, Callable, Iterable, Sequence
from contextlib import asynccontextmanager, closing
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any, cast

from kernelwright.engine.drop_ins import drop_in
from kernelwright.engine.events import Listener, Phase, silent
from kernelwright.engine.gateway.toolbox import Library, technique_cards
from kernelwright.engine.predictor import Predictor, PredictorConfig
from kernelwright.errors import UsageError
from kernelwright.evaluate import doctor
from kernelwright.evaluate.evaluator import Evaluator
from kernelwright.evaluate.over_workloads import OverWorkloads
from kernelwright.evaluate.referee import Referee
from kernelwright.execution.executor import Note, Place
from kernelwright.models.config import ModelConfig
from kernelwright.models.replay import Replay, recorded_in
from kernelwright.models.table import ChatModel, make_model
from kernelwright.propose.author.author import Author
from kernelwright.propose.proposer import Proposer
from kernelwright.propose.table import make_proposer
from kernelwright.records.attempt import Attempt
from kernelwright.records.candidate import Candidate
from kernelwright.records.free_sizes import OtherSizes
from kernelwright.records.policy import Policy
from kernelwright.records.run import Check, Message, Outcome, RunCard
from kernelwright.records.task import Task
from kernelwright.report import html, terminal
from kernelwright.report.html import Files
from kernelwright.reward.predictor.experience import read_rows
from kernelwright.store.cache import EvaluationCache, cache_file
from kernelwright.store.database import FILE
from kernelwright.store.memory import StrategyStates, TuningCache, state_file, tuning_file
from kernelwright.store.run import RunStore

Shown = Any
"""Whatever a rich console can print; rich itself belongs to the interfaces."""


def _model(config: ModelConfig) -> ChatModel:
    """A run's own journal is a record of conversations too."""
    folder = Path(config.name)
    if config.provider != "replay" or not (folder / FILE).exists():
        return make_model(config)
    with closing(RunStore.open(folder)) as store:
        return Replay(recorded_in(store.messages()), config.name)


def _predictor(config: PredictorConfig, reward: str) -> Predictor:
    try:
        module = import_module("kernelwright.reward.predictor.forest")
    except ModuleNotFoundError as error:
        raise UsageError(f"a predictor needs the package {error.name}: pip install 'kernelwright[predictor]'") from None
    rows = read_rows(config.experience) if config.experience is not None else ()
    return cast("Predictor", module.ForestPredictor(rows, reward))


@dataclass(frozen=True)
class Suppliers:
    """One function for each part."""

    evaluator: Callable[[Policy, Place, Note], Evaluator] = lambda policy, place, note: Referee(
        policy, on_note=note, place=place
    )
    """The note tells what the referee is busy with, from any thread."""
    proposer: Callable[[str], Proposer] = make_proposer
    model: Callable[[ModelConfig], ChatModel] = _model
    predictor: Callable[[PredictorConfig, str], Predictor] = _predictor
    """It stands in for the reward of that name."""
    wrap: Callable[[Task, Candidate, OtherSizes | None], str] = drop_in
    """A candidate as a drop-in `ModelNew` module."""
    other_sizes: Callable[[Task, Attempt], OtherSizes | None] = Author().other_sizes
    """An attempt's kernel for other sizes than those that it was judged at, where its author can tell."""
    render: Callable[[RunCard, Sequence[Attempt], Outcome | None, Iterable[Message], Files], str] = html.render
    """The report's page."""
    present: Callable[[RunCard, Sequence[Attempt], Outcome | None, Iterable[Message]], Shown] = terminal.render
    """The same for a terminal, as something that rich prints."""
    examine: Callable[[], Sequence[Check]] = doctor.examine
    cache: Callable[[], EvaluationCache | None] = lambda: EvaluationCache(cache_file())
    """What earlier runs found; None: nothing is taken over or kept."""
    training_cache: Callable[[], EvaluationCache | None] = lambda: EvaluationCache(
        cache_file("training"), doubtful=True
    )
    """The same for trainers."""
    states: Callable[[], StrategyStates | None] = lambda: StrategyStates(state_file())
    """What strategies remember between runs; None: each run begins anew."""
    tuning: Callable[[], TuningCache | None] = lambda: TuningCache(tuning_file())
    """Schedules that won in earlier runs; None: each run begins anew."""
    library: Library = technique_cards
    """What a look-up of techniques finds."""
    listener: Listener = silent

    def open_evaluator(self, policy: Policy, place: Place | None = None) -> Evaluator:
        """An evaluator whose notes the listener hears; on this machine unless a place is named."""
        made = self.evaluator(policy, place or Place(), lambda text: self.listener(Phase(text=text)))
        return OverWorkloads(made, policy)

    @asynccontextmanager
    async def evaluating(self, policy: Policy, place: Place | None = None) -> AsyncIterator[Evaluator]:
        """The same, closed in the end."""
        evaluator = self.open_evaluator(policy, place)
        try:
            yield evaluator
        finally:
            await evaluator.close()
