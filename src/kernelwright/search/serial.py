"""Serial: the base of strategies that need the last answer before their next question.

Decides that one expansion is out at a time, its number, and that no more is asked for than the run's proposals pay for.
Leaves to each strategy what comes next (`_next`), what an answer taught (`_learn`) and when it is over (`finished`).
An expansion may close with fewer attempts than were asked for, or none; that counts as one proposal, as in the engine.
"""

from abc import ABC, abstractmethod
from collections.abc import Sequence

from kernelwright.records.attempt import Attempt, Expansion
from kernelwright.search.limits import Limits


class Serial(ABC):
    """One expansion in flight."""

    def __init__(self, limits: Limits) -> None:
        self._proposals = limits.proposals
        self._spent = 0
        self._asked = 0
        self._closed = 0
        self._made: list[Attempt] = []

    def ask(self, room: int) -> Sequence[Expansion]:
        """The next question; nothing while one is out, or when the search is over."""
        left = self._proposals - self._spent
        if room < 1 or left < 1 or self._closed < self._asked or self.finished():
            return []
        expansion = self._next(self._asked)
        self._asked += 1
        return [expansion.model_copy(update={"count": min(expansion.count, left)})]

    def tell(self, attempt: Attempt, reward: float) -> None:
        """Keep it until its expansion is closed."""
        self._made.append(attempt)

    def closed(self, expansion: Expansion) -> None:
        """Learn from all that this expansion yielded."""
        made, self._made = self._made, []
        self._closed += 1
        self._spent += max(1, len(made))
        self._learn(expansion, made)

    @abstractmethod
    def finished(self) -> str | None:
        """See `Strategy.finished`."""

    @abstractmethod
    def _next(self, number: int) -> Expansion:
        """The next expansion; asking changes nothing, so an answer that taught nothing repeats the question."""

    @abstractmethod
    def _learn(self, expansion: Expansion, made: Sequence[Attempt]) -> None:
        """What an expansion yielded, maybe nothing."""
