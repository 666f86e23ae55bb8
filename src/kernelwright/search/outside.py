"""outside: kernels come from outside the run, one after another, as a coding agent or a person sends them.

Decides only what each is counted as: a first kernel, the repair of a wrong one, or the next step from a right one. Ends
when an expansion is closed without a kernel: whoever sends them is done.
"""

from collections.abc import Sequence
from typing import Literal

from kernelwright.records.attempt import Attempt, Expansion, Intent
from kernelwright.records.base import Record
from kernelwright.records.evaluation import Measured, Verified
from kernelwright.search.limits import Limits

DONE = "Whoever sends the kernels is done."


class OutsideConfig(Record):
    """It has no dials."""

    name: Literal["outside"] = "outside"


class Outside:
    """One expansion at a time; its parent is the attempt before it."""

    def __init__(self, config: OutsideConfig, limits: Limits) -> None:
        self._asked = 0
        self._waiting = False
        self._latest: Attempt | None = None
        self._told = 0
        self._done = False

    def ask(self, room: int) -> Sequence[Expansion]:
        """The next one, once the one before it is closed."""
        if self._waiting or self._done or room < 1:
            return []
        self._waiting = True
        number, self._asked = self._asked, self._asked + 1
        parents = (self._latest.number,) if self._latest else ()
        return [Expansion(number=number, intent=self._intent(), parents=parents)]

    def tell(self, attempt: Attempt, reward: float) -> None:
        """The next kernel is counted from this one."""
        self._latest = attempt
        self._told += 1

    def closed(self, expansion: Expansion) -> None:
        """Without a kernel: that was all."""
        self._waiting = False
        self._done = self._told == 0
        self._told = 0

    def finished(self) -> str | None:
        """Once somebody said so."""
        return DONE if self._done else None

    def _intent(self) -> Intent:
        if self._latest is None:
            return "seed"
        return "improve" if isinstance(self._latest.evaluation, Measured | Verified) else "repair"
