"""Trials: the base of the workflows that make one attempt after another.

Decides when it is over: the target, or K trials. Leaves the next question to each workflow.
"""

from collections.abc import Sequence

from kernelwright.records.attempt import Attempt, Expansion
from kernelwright.search.limits import Limits
from kernelwright.search.serial import Serial
from kernelwright.search.tritongym.config import TritonGymConfig
from kernelwright.search.tritongym.tally import Tally


class Trials(Serial):
    """K trials, tallied."""

    def __init__(self, config: TritonGymConfig, limits: Limits) -> None:
        super().__init__(limits)
        self._config = config
        self._trials = config.trials(limits.proposals)
        self._tally = Tally(limits.target_us)

    def _learn(self, expansion: Expansion, made: Sequence[Attempt]) -> None:
        for attempt in made:
            self._tally.add(attempt)

    def finished(self) -> str | None:
        """The target is met, or every trial was made."""
        return self._tally.ending(over=self._closed >= self._trials)
