"""tritongym: one kernel refined attempt by attempt with its feedback, until it is fast enough.

The closed loop of TritonGym: the first attempt is a seed; each later one refines the previous kernel,
with the best so far beside it; the search stops early at the target latency. Its numeric reward is
`reward.tritongym`. Decides parents and intent; refuses to know what the feedback says.
"""

from collections.abc import Sequence
from typing import Literal

from pydantic import Field

from kernelwright.records.attempt import Attempt, Expansion, fastest
from kernelwright.records.base import Record
from kernelwright.search.limits import Limits

_WORKS = ("measured", "verified", "compiled")


class TritonGymConfig(Record):
    """How often."""

    name: Literal["tritongym"] = "tritongym"
    attempts: int | None = Field(default=None, ge=1)
    """None: as many as the budget has proposals."""


class TritonGym:
    """One expansion in flight at a time: each needs the one before it."""

    def __init__(self, config: TritonGymConfig, limits: Limits) -> None:
        self._attempts = config.attempts or limits.proposals
        self._target_us = limits.target_us
        self._previous: Attempt | None = None
        self._best: Attempt | None = None
        self._asked = 0
        self._told = 0
        self._right = False
        self._waiting = False

    def ask(self, room: int) -> Sequence[Expansion]:
        """The next refinement; nothing while the previous one is out, or when the search is over."""
        if room < 1 or self._waiting or self.finished():
            return []
        expansion = self._next(self._asked)
        self._asked += 1
        self._waiting = True
        return [expansion]

    def _next(self, number: int) -> Expansion:
        if self._previous is None:
            return Expansion(number=number, intent="seed")
        works = self._previous.evaluation.outcome in _WORKS
        parents = [self._previous.number]
        if self._best is not None and self._best.number not in parents:
            parents.append(self._best.number)
        return Expansion(number=number, intent="improve" if works else "repair", parents=tuple(parents))

    def tell(self, attempt: Attempt, reward: float) -> None:
        """Keep it as the previous one, and as the best if it is."""
        self._previous = attempt
        self._best = fastest([a for a in (self._best, attempt) if a is not None])
        self._right |= attempt.evaluation.outcome in ("measured", "verified")
        self._told += 1
        self._waiting = False

    def finished(self) -> str | None:
        """The target is met, or every attempt was made."""
        if self._within_target():
            return "Optimized kernel found within target."
        if self._told < self._attempts:
            return None
        if self._best is not None:
            return f"Best kernel after max attempts. Latency: {self._best.latency_us:.2f} us."
        if self._right:
            return "Functional kernel after max attempts; nothing was timed on this machine."
        return "Failed to generate a functional kernel."

    def _within_target(self) -> bool:
        latency = self._previous.latency_us if self._previous else None
        return latency is not None and self._target_us is not None and latency <= self._target_us
