"""outside: kernels come from outside the run, one after another, as a coding agent or a person sends them.

Each counts as a first kernel, the repair of a wrong one, or the next step from a right one. The search ends when a
proposal request closes without a kernel: the sender is done.
"""

from collections.abc import Sequence
from typing import ClassVar, Literal

from kernelwright.records.attempt import Attempt, ProposalRequest
from kernelwright.search.reading import works
from kernelwright.search.strategy import ExpectedCalls, Limits, Serial, StrategyConfig

DONE = "Whoever sends the kernels is done."


class OutsideConfig(StrategyConfig):
    """It has no options."""

    listed: ClassVar[bool] = False

    name: Literal["outside"] = "outside"

    def expected_calls(self, proposals: int) -> tuple[ExpectedCalls, ...]:
        """No model of the run is asked."""
        return ()

    def make(self, limits: Limits) -> "Outside":
        """A fresh strategy."""
        return Outside(limits)


class Outside(Serial):
    """Each kernel's parent is the attempt before it."""

    def __init__(self, limits: Limits) -> None:
        super().__init__(limits)
        self._latest: Attempt | None = None
        self._done = False

    def finished(self) -> str | None:
        """Once somebody said so."""
        return DONE if self._done else None

    def _next(self, number: int) -> ProposalRequest:
        if self._latest is None:
            return ProposalRequest(number=number, intent="seed")
        intent = "improve" if works(self._latest) else "repair"
        return ProposalRequest(number=number, intent=intent, parents=(self._latest.number,))

    def _learn(self, proposal_request: ProposalRequest, made: Sequence[Attempt]) -> None:
        self._done = not made
        self._latest = made[-1] if made else self._latest
