"""halves: seeds for the first half of the budget, improvements of the best one for the second."""

from collections.abc import Sequence
from typing import ClassVar, Literal

from pydantic import Field

from kernelwright.records.attempt import Attempt, ProposalRequest
from kernelwright.records.feedback import Feedback
from kernelwright.search.strategy import Limits, Strategy, StrategyConfig


class HalvesConfig(StrategyConfig):
    """What the entry point names: the options, and how the strategy is made from them."""

    reads_reward: ClassVar[bool] = True

    name: Literal["halves"] = "halves"
    share: float = Field(default=0.5, gt=0, le=1)
    """Of the budget, for seeds."""

    def make(self, limits: Limits) -> "Halves":
        """A fresh strategy."""
        return Halves(self, limits)


class Halves(Strategy):
    """See the module."""

    def __init__(self, config: HalvesConfig, limits: Limits) -> None:
        self._seeds, self._all = max(1, round(config.share * limits.proposals)), limits.proposals
        self._asked = self._closed = 0
        self._best: tuple[float, int] | None = None

    def ask(self, room: int) -> Sequence[ProposalRequest]:
        """The next expansion, once the one before it is closed."""
        if self._asked > self._closed or self._asked >= self._all:
            return []
        number, self._asked = self._asked, self._asked + 1
        if number < self._seeds or self._best is None:
            return [ProposalRequest(number=number, intent="seed")]
        return [ProposalRequest(number=number, intent="improve", parents=(self._best[1],))]

    def tell(self, attempt: Attempt, feedback: Feedback) -> None:
        """Keep the best by the reward."""
        found = (feedback.reward, attempt.number)
        self._best = max(self._best or found, found)

    def closed(self, proposal_request: ProposalRequest) -> None:
        """Count it."""
        self._closed += 1

    def finished(self) -> str | None:
        """Once the budget was asked for."""
        return "Both halves were judged." if self._closed >= self._all else None
