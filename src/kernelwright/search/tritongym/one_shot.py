"""one_shot: K independent single shots. No attempt sees another; the target ends it early."""

from kernelwright.records.attempt import Attempt
from kernelwright.search.best_of_n import Seeds
from kernelwright.search.limits import Limits
from kernelwright.search.tritongym.config import TritonGymConfig
from kernelwright.search.tritongym.tally import Tally


class OneShot(Seeds):
    """See the module."""

    def __init__(self, config: TritonGymConfig, limits: Limits) -> None:
        super().__init__(config.attempts, limits)
        self._tally = Tally(limits.target_us)

    def tell(self, attempt: Attempt, reward: float) -> None:
        """Tally it."""
        self._tally.add(attempt)

    def finished(self) -> str | None:
        """The target is met, or every shot was judged."""
        return self._tally.ending(over=self._closed >= self._n)
