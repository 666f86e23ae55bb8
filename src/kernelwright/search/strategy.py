"""The Strategy protocol: where to look next.

A strategy returns Expansions and is told Attempts with their rewards. It sees records and nothing else:
no source's meaning, no model, prompt, compiler or device. It must be deterministic given its seed and
what it was told, since a resumed run rebuilds it by asking and telling again.
"""

from collections.abc import Sequence
from typing import Protocol

from kernelwright.records.attempt import Attempt, Expansion
from kernelwright.search.limits import Limits


class Strategy(Protocol):
    """Ask and tell. `tell` comes once for each attempt, then `closed` for its expansion; several may be in flight."""

    def ask(self, room: int) -> Sequence[Expansion]:
        """At most `room` expansions. Empty while attempts are in flight means wait; otherwise, finished."""
        ...

    def tell(self, attempt: Attempt, reward: float) -> None:
        """Learn from one attempt."""
        ...

    def closed(self, expansion: Expansion) -> None:
        """Every attempt of this expansion was told. There may have been fewer than asked for, or none."""
        ...

    def finished(self) -> str | None:
        """Why the search is over (a target reached, nothing left); None while it goes on."""
        ...


class PluginConfig(Protocol):
    """What the entry point of a plug-in's strategy names: a frozen record with the strategy's options."""

    name: str
    """As the entry point is called; a `Literal` of it."""

    def strategy(self, limits: Limits) -> Strategy:
        """A fresh strategy with these options."""
        ...
