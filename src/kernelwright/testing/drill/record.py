"""The record of calls: numbers for those that arrive, lines for those that were served.

Decides how calls are counted: among all, among those of their role, and how often the same request came. Safe to use from
several threads.
"""

from collections import Counter
from threading import Lock
from typing import NamedTuple

from kernelwright.testing.drill.shown import Served


class Arrival(NamedTuple):
    """A call's place among those before it."""

    number: int
    of_role: int
    before: int
    """How often the same request came before."""


class CallRecord:
    """All calls of one server."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._number = 0
        self._roles: Counter[str] = Counter()
        self._requests: Counter[str] = Counter()
        self._served: list[Served] = []

    def arrive(self, role: str, request: str) -> Arrival:
        """Number a call."""
        with self._lock:
            found = Arrival(self._number, self._roles[role], self._requests[request])
            self._number += 1
            self._roles[role] += 1
            self._requests[request] += 1
            return found

    def serve(self, served: Served) -> None:
        """Keep a line."""
        with self._lock:
            self._served.append(served)

    @property
    def served(self) -> tuple[Served, ...]:
        """Every line so far, by the calls' numbers."""
        with self._lock:
            return tuple(sorted(self._served, key=lambda s: s.number))
