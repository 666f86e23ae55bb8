"""Independent seeds without feedback: the baselines that every other strategy has to beat.

`best_of_n` keeps the best of N. `direct` is the baseline of FSR's paper: the same, with the words of pass@k. Nothing is
learned, so all seeds may be in flight at once.
"""

from collections.abc import Sequence
from typing import ClassVar, Literal

from pydantic import Field

from kernelwright.records.attempt import Attempt, ProposalRequest
from kernelwright.records.feedback import Feedback
from kernelwright.search.reading import works
from kernelwright.search.strategy import CODER, ExpectedCalls, Limits, Rounds, StrategyConfig


class SeedsConfig(StrategyConfig):
    """How many seeds."""

    independent: ClassVar[bool] = True

    n: int | None = Field(default=None, ge=1)
    """Of `direct` the k of pass@k; the paper has 5. None: as many as the budget has proposals, never more."""
    role: Literal["coder", "frontend"] = "coder"
    """Who is asked. A model that was trained on the frontend's prompts understands no others."""

    def trials(self, proposals: int) -> int:
        """N, as far as the budget goes."""
        return min(self.n or proposals, proposals)

    def expected_calls(self, proposals: int) -> tuple[ExpectedCalls, ...]:
        """A first prompt a seed."""
        return (ExpectedCalls(role=self.role, calls=self.trials(proposals)),)


class BestOfNConfig(SeedsConfig):
    """See the module."""

    name: Literal["best_of_n"] = "best_of_n"

    def make(self, limits: Limits) -> "Seeds":
        """A fresh strategy."""
        return Seeds(self.trials(limits.proposals), limits, self.role)


class DirectConfig(SeedsConfig):
    """See the module."""

    name: Literal["direct"] = "direct"

    def make(self, limits: Limits) -> "Direct":
        """A fresh strategy."""
        return Direct(self.trials(limits.proposals), limits, self.role)


class Seeds(Rounds):
    """One round of N seeds."""

    def __init__(self, n: int, limits: Limits, role: str = CODER) -> None:
        super().__init__(limits)
        self._n, self._role = n, role

    def finished(self) -> str | None:
        """Once every seed was answered and judged; an empty answer was one of the N."""
        return self._words(self._n) if self._closed >= self._n else None

    def _round(self, number: int) -> Sequence[ProposalRequest]:
        return [ProposalRequest(number=seed, intent="seed", role=self._role) for seed in range(number, self._n)]

    def _learn_round(self, asked: Sequence[ProposalRequest], made: Sequence[Attempt]) -> None:
        """Nothing: each seed stands alone."""

    def _words(self, n: int) -> str:
        return f"All {n} independent candidates were judged."


class Direct(Seeds):
    """Counts those that work."""

    def __init__(self, n: int, limits: Limits, role: str = CODER) -> None:
        super().__init__(n, limits, role)
        self._working = 0

    def tell(self, attempt: Attempt, feedback: Feedback) -> None:
        """Count it."""
        super().tell(attempt, feedback)
        self._working += works(attempt)

    def _words(self, n: int) -> str:
        passed = "passed" if self._working else "failed"
        return f"pass@{n}: {passed}. {self._working} of {n} direct answers work; none saw feedback."
