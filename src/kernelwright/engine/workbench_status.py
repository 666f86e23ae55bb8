"""How far a run is, for the program that sends its kernels: a function of its attempts."""

from collections.abc import Sequence

from kernelwright.records.attempt import Attempt, speedup
from kernelwright.records.base import Record
from kernelwright.records.evaluation import Measured, Verified, merit


class HistoryRow(Record):
    """One line of a run's history."""

    attempt: int
    outcome: str
    note: str
    latency_us: float | None
    speedup_eager: float | None
    """Median; None for whatever was not measured."""


class WorkbenchStatus(Record):
    """How far a run is."""

    run: str
    """Its folder."""
    task: str
    target: str
    trials_left: int
    best: int | None
    """The best attempt so far."""
    outcomes: dict[str, int]
    history: tuple[HistoryRow, ...]
    device_s: float
    """Seconds of the device that trials took."""
    tools_device_s: float
    """Seconds of the device that profiles took in this process."""
    over: bool
    """Nothing more can be checked; the rest is to submit."""


def best_so_far(attempts: Sequence[Attempt]) -> int | None:
    """The attempt that the run holds for its best so far: the first of those that are equally good."""
    right = (a for a in attempts if isinstance(a.evaluation, Measured | Verified))
    found = max(right, key=lambda a: merit(a.evaluation), default=None)
    return found.number if found is not None else None


def history(attempts: Sequence[Attempt]) -> tuple[HistoryRow, ...]:
    """A line for each attempt."""
    return tuple(
        HistoryRow(
            attempt=attempt.number,
            outcome=attempt.evaluation.outcome,
            note=attempt.proposal.note,
            latency_us=attempt.latency_us,
            speedup_eager=speedup(attempt) or None,
        )
        for attempt in attempts
    )
