"""Tally: what a search of this kind has reached, and the words of its ending.

Decides when the target is met and what is said then, in the words of TritonGym's pseudocode. Refuses to know how
the next attempt is chosen.
"""

from kernelwright.records.attempt import Attempt, fastest
from kernelwright.records.evaluation import is_right
from kernelwright.search.reading import within


class Tally:
    """The best so far, and whether anything was right."""

    def __init__(self, target_us: float | None) -> None:
        self.best: Attempt | None = None
        self._target_us = target_us
        self._right = False
        self._met = False

    def add(self, attempt: Attempt) -> None:
        """Count one attempt."""
        self.best = fastest([a for a in (self.best, attempt) if a is not None])
        self._right |= is_right(attempt.evaluation)
        self._met |= within(attempt, self._target_us)

    def ending(self, *, over: bool, after: str = "max attempts") -> str | None:
        """The last words; None while the target is not met and it is not over."""
        if self._met:
            return "Optimized kernel found within target."
        if not over:
            return None
        if self.best is not None:
            return f"Best kernel after {after}. Latency: {self.best.latency_us:.2f} us."
        if self._right:
            return f"Functional kernel after {after}; nothing was timed on this machine."
        return "Failed to generate a functional kernel."
