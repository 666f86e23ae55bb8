"""The record of calls: numbers for those that arrive, lines for those that were served.

Decides how calls are counted: among all, among those of their role, and how often the same request came. Safe to use from
several threads.
"""

from collections import Counter
from collections.abc import Iterable
from threading import Lock
from typing import NamedTuple, Self

from kernelwright.records.base import Record
from kernelwright.testing.drill.wire import Asked, Body


class Arrival(NamedTuple):
    """A call's place among those before it."""

    number: int
    of_role: int
    before: int
    """How often the same request came before."""


class Served(Record):
    """One call, as the server saw it."""

    number: int
    """Position among all calls, from 0, in the order of arrival."""
    request: str
    """Hash of what was asked: the same question is the same request."""
    role: str
    """`coder`, `judge-repair`, `judge-improve`, `reflector` or `agent`, as the prompt reads."""
    kind: str
    """What was done: `seed`, `mended`, `unmended`, `improved`, `sideways`, `best`, `advice`, … or the transport's fault."""
    fault: str = ""
    """The fault of the reply's content, if it has one."""
    status: int = 200
    """Of HTTP; 0: no answer was completed."""
    prompt_tokens: int = 0
    """As told to the client; 0 where nothing was told."""
    completion_tokens: int = 0

    @classmethod
    def of(cls, arrival: Arrival, asked: Asked, kind: str, status: int = 200, fault: str = "") -> Self:
        """The line of a request that could be read; its tokens are told to nobody."""
        role, request = asked.prompt.role, asked.request
        return cls(number=arrival.number, request=request, role=role, kind=kind, fault=fault, status=status)

    def with_usage(self, body: Body) -> Self:
        """The same, with the tokens that a body tells."""
        found = body.get("usage")
        usage = found if isinstance(found, dict) else {}
        told = {name: int(str(usage.get(name, 0))) for name in ("prompt_tokens", "completion_tokens")}
        return self.model_copy(update=told)


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


def tally(calls: Iterable[Served]) -> Counter[str]:
    """How many calls there were of each kind."""
    return Counter(call.kind for call in calls)
