"""best_of_n: N independent seeds, no feedback. The baseline that every other strategy has to beat.

Decides only how many. Refuses to learn: no expansion has a parent.
"""

from collections.abc import Sequence
from typing import Literal

from pydantic import Field

from kernelwright.records.attempt import Attempt, Expansion
from kernelwright.records.base import Record
from kernelwright.search.limits import Limits


class BestOfNConfig(Record):
    """How many seeds."""

    name: Literal["best_of_n"] = "best_of_n"
    n: int | None = Field(default=None, ge=1)
    """None: as many as the budget has proposals."""


class BestOfN:
    """Asks for seeds, as many at a time as there is room for."""

    def __init__(self, config: BestOfNConfig, limits: Limits) -> None:
        self._n = config.n or limits.proposals
        self._asked = 0
        self._told = 0

    def ask(self, room: int) -> Sequence[Expansion]:
        """The next seeds."""
        numbers = range(self._asked, min(self._asked + room, self._n))
        self._asked += len(numbers)
        return [Expansion(number=number, intent="seed") for number in numbers]

    def tell(self, attempt: Attempt, reward: float) -> None:
        """Count it."""
        self._told += 1

    def finished(self) -> str | None:
        """Once every seed was judged."""
        return f"All {self._n} independent candidates were judged." if self._told >= self._n else None
