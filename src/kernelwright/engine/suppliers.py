"""Suppliers: where the swappable parts come from. Tests and other programs give their own.

Decides the defaults: the referee of this machine, the table of proposers, the HTML report. A part is
imported when it is first needed, so that `--help` waits for none of them.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from importlib import import_module
from typing import cast

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


def _referee(policy: Policy) -> Evaluator:
    return cast("Evaluator", import_module("kernelwright.evaluate.referee").Referee(policy))


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


@dataclass(frozen=True)
class Suppliers:
    """One function for each part."""

    evaluator: Callable[[Policy], Evaluator] = _referee
    proposer: Callable[[str], Proposer] = _proposer
    wrap: Callable[[Task, Candidate], str] = _wrap
    """A candidate as a drop-in `ModelNew` module."""
    render: Callable[[RunCard, Sequence[Attempt], Outcome | None], str] = _render
    """The report's page."""
    examine: Callable[[], Sequence[Check]] = _examine
    listener: Listener = silent
