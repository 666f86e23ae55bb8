"""The Predictor protocol: a guess of what is worth evaluating first, before anything is run.

It only ranks; the referee decides. Deterministic given what it learned, since a resumed run learns again.
The default is None: proposals keep their order.
"""

from collections.abc import Sequence
from typing import Protocol

from kernelwright.propose.proposer import Brief
from kernelwright.records.attempt import Attempt, Proposal


class Predictor(Protocol):
    """A learned stand-in for the reward."""

    def rank(self, brief: Brief, proposals: Sequence[Proposal]) -> Sequence[Proposal]:
        """The same proposals, most promising first."""
        ...

    def learn(self, attempt: Attempt, reward: float) -> None:
        """Take one judged attempt into account."""
        ...
