"""Suppliers: where the swappable parts come from. Tests and other programs give their own.

Decides the defaults: the referee of this machine, the table of proposers, the HTML report.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from kernelwright.engine.events import Listener, Phase, silent
from kernelwright.errors import UsageError
from kernelwright.evaluate import doctor
from kernelwright.evaluate.evaluator import Evaluator
from kernelwright.evaluate.referee import Referee
from kernelwright.execution.executor import Note, Place
from kernelwright.export import model_new
from kernelwright.propose.proposer import Proposer
from kernelwright.propose.table import PROPOSERS
from kernelwright.records.attempt import Attempt
from kernelwright.records.candidate import Candidate
from kernelwright.records.check import Check
from kernelwright.records.policy import Policy
from kernelwright.records.run import Outcome, RunCard
from kernelwright.records.task import Task
from kernelwright.report import html, terminal
from kernelwright.store.cache import EvaluationCache, cache_file

Shown = Any
"""Whatever a rich console can print; rich itself belongs to the interfaces."""


def _referee(policy: Policy, place: Place, note: Note) -> Evaluator:
    return Referee(policy, on_note=note, place=place)


def _proposer(name: str) -> Proposer:
    if name not in PROPOSERS:
        raise UsageError(f"proposer {name!r} must be one of {', '.join(PROPOSERS)}")
    return PROPOSERS[name]()


def _cache() -> EvaluationCache | None:
    return EvaluationCache(cache_file())


@dataclass(frozen=True)
class Suppliers:
    """One function for each part."""

    evaluator: Callable[[Policy, Place, Note], Evaluator] = _referee
    """The note tells what the referee is busy with, from any thread."""
    proposer: Callable[[str], Proposer] = _proposer
    wrap: Callable[[Task, Candidate], str] = model_new.wrap
    """A candidate as a drop-in `ModelNew` module."""
    render: Callable[[RunCard, Sequence[Attempt], Outcome | None], str] = html.render
    """The report's page."""
    present: Callable[[RunCard, Sequence[Attempt], Outcome | None], Shown] = terminal.render
    """The same for a terminal, as something that rich prints."""
    examine: Callable[[], Sequence[Check]] = doctor.examine
    cache: Callable[[], EvaluationCache | None] = _cache
    """What earlier runs found; None: nothing is taken over or kept."""
    listener: Listener = silent

    def open_evaluator(self, policy: Policy, place: Place | None = None) -> Evaluator:
        """An evaluator whose notes the listener hears; on this machine unless a place is named."""
        return self.evaluator(policy, place or Place(), lambda text: self.listener(Phase(text=text)))
