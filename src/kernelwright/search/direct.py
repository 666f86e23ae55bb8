"""direct: pass@k, the baseline of FSR's paper. k independent answers to the task, nothing is fed back.

The same shape as `best_of_n`, with the paper's figure: how many of the k work. Decides nothing else.
"""

from typing import Literal

from pydantic import Field

from kernelwright.records.attempt import Attempt
from kernelwright.records.base import Record
from kernelwright.search.best_of_n import Seeds
from kernelwright.search.limits import Limits
from kernelwright.search.reading import works


class DirectConfig(Record):
    """How many answers."""

    name: Literal["direct"] = "direct"
    n: int | None = Field(default=None, ge=1)
    """The k of pass@k. None: as many as the budget has proposals, never more; the paper has 5."""


class Direct(Seeds):
    """See the module."""

    def __init__(self, config: DirectConfig, limits: Limits) -> None:
        super().__init__(config.n, limits)
        self._working = 0

    def tell(self, attempt: Attempt, reward: float) -> None:
        """Count those that work."""
        self._working += works(attempt)

    def _words(self, n: int) -> str:
        passed = "passed" if self._working else "failed"
        return f"pass@{n}: {passed}. {self._working} of {n} direct answers work; none saw feedback."
