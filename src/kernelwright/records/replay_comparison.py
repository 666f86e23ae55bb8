"""Standing: whether a recorded verdict still holds, finding by finding; and a recheck, which asks that of a whole run.

Values only; `engine.comparison` decides them.
"""

from kernelwright.records.base import Record
from kernelwright.records.evaluation import Evaluation
from kernelwright.records.task import Target


class Change(Record):
    """One circumstance that is not what it was."""

    name: str
    """`device`, `isolation`, or the name of a version."""
    then: str
    now: str


class Finding(Record):
    """One part of the verdict, then and now, in words with their figures."""

    what: str
    """`outcome`, `accuracy`, or `speedup over` a baseline."""
    then: str
    now: str
    holds: bool | None
    """None: told, and nothing follows from it."""


class ReplayComparison(Record):
    """A verdict beside the one that was reached here."""

    holds: bool
    """No finding says otherwise."""
    findings: tuple[Finding, ...]
    changed: tuple[Change, ...]
    evaluation: Evaluation | None
    """Made here, as a final, with fresh seeds; None when the task itself can no longer be judged."""


class Rechecked(Record):
    """One attempt of a run, judged again."""

    attempt: int
    candidate: str
    """Its id."""
    best: bool
    """Whether it is the run's best; that one's figure is its final's."""
    comparison: ReplayComparison


class RecheckLine(Record):
    """One line of a run's recheck file: a row, or the end of a pass."""

    environment_key: str
    """Identity of device, versions and policy here: rows of others say nothing about today."""
    row: Rechecked | None
    """None: every attempt of the pass was judged; the next one begins anew."""


class Recheck(Record):
    """One pass over a run."""

    run: str
    folder: str
    task: str
    target: Target
    device: str
    changed: tuple[Change, ...]
    """Device and versions, between the run and now."""
    measured: bool
    """False: nothing changed, so that nothing was judged again."""
    rows: tuple[Rechecked, ...]
    """The best first, then by the speedup that the search saw."""
    holds: bool
    """All that was judged holds."""
    left: int
    """Attempts that the budget left out; the same command goes on with them."""
