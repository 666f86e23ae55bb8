"""agent: one model with tools in one long conversation, K trials.

Each expansion lasts until the agent hands in a kernel; the next one goes on with the same conversation, in which what
became of that kernel is the answer. An expansion that yields nothing is the agent's own end: it submitted its last word,
or gave up.
Decides only that the conversation goes on; refuses to know which tools were called.
"""

from collections.abc import Sequence

from kernelwright.records.attempt import Attempt, Expansion
from kernelwright.search.limits import Limits
from kernelwright.search.reading import works
from kernelwright.search.tritongym.config import TritonGymConfig
from kernelwright.search.tritongym.trials import Trials

AGENT = "agent"


class Agent(Trials):
    """See the module."""

    def __init__(self, config: TritonGymConfig, limits: Limits) -> None:
        super().__init__(config, limits)
        self._last: Attempt | None = None
        self._stopped = False

    def _next(self, number: int) -> Expansion:
        last = self._last
        if last is None:
            return Expansion(number=number, intent="seed", role=AGENT)
        intent = "improve" if works(last) else "repair"
        return Expansion(number=number, intent=intent, parents=(last.number,), role=AGENT, dialogue="kept")

    def _learn(self, expansion: Expansion, made: Sequence[Attempt]) -> None:
        super()._learn(expansion, made)
        self._stopped = not made
        self._last = made[-1] if made else self._last

    def finished(self) -> str | None:
        """The target is met, every trial was made, or the agent stopped."""
        after = "the agent ended its work" if self._stopped else "max attempts"
        return self._tally.ending(over=self._stopped or self._closed >= self._trials, after=after)
