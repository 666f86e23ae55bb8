"""refine: one kernel refined attempt by attempt with its feedback, until it is fast enough.

The closed loop of TritonGym's pseudocode: the first attempt is a seed; each later one refines the previous kernel,
with the best so far beside it; the search stops early at the target latency. Its numeric reward is
`reward.tritongym`. Decides parents and intent; refuses to know what the feedback says.
"""

from collections.abc import Sequence

from kernelwright.records.attempt import Attempt, Expansion
from kernelwright.search.limits import Limits
from kernelwright.search.reading import is_kernel, works
from kernelwright.search.tritongym.config import TritonGymConfig
from kernelwright.search.tritongym.trials import Trials


class Refine(Trials):
    """See the module."""

    def __init__(self, config: TritonGymConfig, limits: Limits) -> None:
        super().__init__(config, limits)
        self._previous: Attempt | None = None

    def _next(self, number: int) -> Expansion:
        previous, best = self._previous, self._tally.best
        if previous is None:
            return Expansion(number=number, intent="seed")
        parents = (previous.number,) if best in (None, previous) else (previous.number, best.number)
        return Expansion(number=number, intent="improve" if works(previous) else "repair", parents=parents)

    def _learn(self, expansion: Expansion, made: Sequence[Attempt]) -> None:
        super()._learn(expansion, made)
        for attempt in filter(is_kernel, made):
            self._previous = attempt
