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


class Seeds:
    """Asks for seeds, as many at a time as there is room for. What it says of them at the end is its subclass's."""

    def __init__(self, n: int | None, limits: Limits) -> None:
        self._n = min(n or limits.proposals, limits.proposals)
        self._asked = 0
        self._closed = 0

    def ask(self, room: int) -> Sequence[Expansion]:
        """The next seeds."""
        if self.finished():
            return []
        numbers = range(self._asked, min(self._asked + room, self._n))
        self._asked += len(numbers)
        return [Expansion(number=number, intent="seed") for number in numbers]

    def tell(self, attempt: Attempt, reward: float) -> None:
        """Nothing to learn: each seed stands alone."""

    def closed(self, expansion: Expansion) -> None:
        """Count it: an empty answer was one of the N."""
        self._closed += 1

    def finished(self) -> str | None:
        """Once every seed was answered and judged."""
        return self._words(self._n) if self._closed >= self._n else None

    def _words(self, n: int) -> str:
        return f"All {n} independent candidates were judged."


class BestOfN(Seeds):
    """See the module."""

    def __init__(self, config: BestOfNConfig, limits: Limits) -> None:
        super().__init__(config.n, limits)
