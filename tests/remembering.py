"""A tiny strategy with a memory: two arms, and it pulls the one with the better mean reward so far, over all runs.

Its state is sums and counts, as `add_learned` wants them.
"""

from typing import Literal

from pydantic import Field

from kernelwright.errors import UsageError
from kernelwright.records.attempt import ProposalRequest
from kernelwright.search.strategy import Rounds, StrategyConfig
from kernelwright.search.table import STRATEGIES

ARMS = ("tile", "vectorise")


class BanditConfig(StrategyConfig):
    name: Literal["bandit"] = "bandit"
    width: int = Field(default=1, ge=1)
    """Expansions in flight."""

    def make(self, limits):
        return Bandit(self, limits)


class Bandit(Rounds):
    def __init__(self, config, limits):
        super().__init__(limits)
        self._width = config.width
        self._arms = {arm: {"reward": 0.0, "pulls": 0} for arm in ARMS}

    def state(self):
        return {"version": 1, "arms": {name: dict(arm) for name, arm in self._arms.items()}}

    def restore(self, state):
        if state["version"] != 1:
            raise UsageError("another version's state")
        self._arms = {name: dict(arm) for name, arm in state["arms"].items()}

    def tell(self, attempt, feedback):
        super().tell(attempt, feedback)
        arm = self._arms[attempt.proposal_request.hint]
        arm["reward"] += feedback.reward
        arm["pulls"] += 1

    def finished(self):
        return None

    def _round(self, number):
        best = max(self._arms, key=lambda name: self._mean(self._arms[name]))
        return [ProposalRequest(number=number + place, intent="seed", hint=best) for place in range(self._width)]

    def _learn_round(self, asked, made):
        pass

    @staticmethod
    def _mean(arm):
        return arm["reward"] / arm["pulls"] if arm["pulls"] else 100.0


def enter(table=STRATEGIES):
    """Put it into the table."""
    table["bandit"] = BanditConfig
