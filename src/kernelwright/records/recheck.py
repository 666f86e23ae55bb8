"""Recheck: what of a run still holds after driver, compiler, library or device changed."""

from kernelwright.records.base import Record
from kernelwright.records.standing import Change, Standing
from kernelwright.records.task import Target


class Rechecked(Record):
    """One attempt of a run, judged again."""

    attempt: int
    candidate: str
    """Its id."""
    best: bool
    """Whether it is the run's best; that one's figure is its final's."""
    standing: Standing


class RecheckLine(Record):
    """One line of a run's recheck file: a row, or the end of a pass."""

    circumstances: str
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
