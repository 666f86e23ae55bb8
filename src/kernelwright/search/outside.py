"""outside: kernels come from outside the run, one after another, as a coding agent or a person sends them.

Decides only what each is counted as: a first kernel, the repair of a wrong one, or the next step from a right one. Ends
when an expansion is closed without a kernel: whoever sends them is done.
"""

from collections.abc import Sequence
from typing import Literal

from kernelwright.records.attempt import Attempt, Expansion
from kernelwright.records.base import Record
from kernelwright.search.limits import Limits
from kernelwright.search.reading import works
from kernelwright.search.serial import Serial

DONE = "Whoever sends the kernels is done."


class OutsideConfig(Record):
    """It has no dials."""

    name: Literal["outside"] = "outside"


class Outside(Serial):
    """Each kernel's parent is the attempt before it."""

    def __init__(self, config: OutsideConfig, limits: Limits) -> None:
        super().__init__(limits)
        self._latest: Attempt | None = None
        self._done = False

    def finished(self) -> str | None:
        """Once somebody said so."""
        return DONE if self._done else None

    def _next(self, number: int) -> Expansion:
        if self._latest is None:
            return Expansion(number=number, intent="seed")
        intent = "improve" if works(self._latest) else "repair"
        return Expansion(number=number, intent=intent, parents=(self._latest.number,))

    def _learn(self, expansion: Expansion, made: Sequence[Attempt]) -> None:
        self._done = not made
        self._latest = made[-1] if made else self._latest
