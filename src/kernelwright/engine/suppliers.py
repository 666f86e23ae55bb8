"""Suppliers: where the swappable parts come from. Tests and other programs give their own.

Decides the defaults: the referee of this machine, the table of proposers, the HTML report. A part is
imported when it is first needed, so that `--help` waits for none of them.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from importlib import import_module
from typing import Any, cast

from kernelwright.engine.events import Listener, silent
from kernelwright.errors import UsageError
from kernelwright.evaluate.evaluator import Evaluator
from kernelwright.propose.proposer import Proposer
from kernelwright.records.attempt import Attempt
from kernelwright.records.candidate import Candidate
from kernelwright.records.check import Check
from kernelwright.records.policy import Policy
from kernelwright.records.run import Outcome, RunCard
from kernelwright.records.task import Task

Note = Callable[[str], None]
Shown = Any
"""Whatever a rich console can print; rich itself belongs to the interfaces."""


def _referee(policy: Policy, note: Note) -> Evaluator:
    return cast("Evaluator", import_module("kernelwright.evaluate.referee").Referee(policy, on_note=note))


def _proposer(name: str) -> Proposer:
    table: dict[str, Callable[[], Proposer]] = import_module("kernelwright.propose.table").PROPOSERS
    if name not in table:
        raise UsageError(f"proposer {name!r} must be one of {', '.join(table)}")
    return table[name]()


def _wrap(task: Task, candidate: Candidate) -> str:
    return str(import_module("kernelwright.export.model_new").wrap(task, candidate))


def _render(card: RunCard, attempts: Sequence[Attempt], outcome: Outcome | None) -> str:
    return str(import_module("kernelwright.report.html").render(card, attempts, outcome))


def _examine() -> Sequence[Check]:
    return cast("Sequence[Check]", import_module("kernelwright.evaluate.doctor").examine())


def _present(card: RunCard, attempts: Sequence[Attempt], outcome: Outcome | None) -> Shown:
    return import_module("kernelwright.report.terminal").render(card, attempts, outcome)


@dataclass(frozen=True)
class Suppliers:
    """One function for each part."""

    evaluator: Callable[[Policy, Note], Evaluator] = _referee
    """The note tells what the referee is busy with, from any thread."""
    proposer: Callable[[str], Proposer] = _proposer
    wrap: Callable[[Task, Candidate], str] = _wrap
    """A candidate as a drop-in `ModelNew` module."""
    render: Callable[[RunCard, Sequence[Attempt], Outcome | None], str] = _render
    """The report's page."""
    present: Callable[[RunCard, Sequence[Attempt], Outcome | None], Shown] = _present
    """The same for a terminal, as something that rich prints."""
    examine: Callable[[], Sequence[Check]] = _examine
    listener: Listener = silent
