"""When a contest has seen enough: looks at fixed numbers of blocks, each entitled to its share of the allowed error.

A clock that looks after every block and stops when it likes what it sees calls noise a difference. Here the numbers of
blocks at which it looks are known before the first block, and the intervals of all looks hold together
(`statistics.ratio`), so that stopping at any of them, for any reason, keeps the level. A contest that the budget of
seconds ends between two looks has used one look in place of the next: time does not know which side was ahead.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median
from typing import Literal

from kernelwright.evaluate.profile.statistics import ratio, verdict
from kernelwright.records.measure import BaselineName, Ratio, Versus

FIRST = 10
"""Fewest blocks of a first look: the least of which the sign test, in up to four looks, can be sure to 99 %."""
GROWTH = 1.5
"""One look to the next: more looks would each have to be surer."""


def schedule(most: int) -> tuple[int, ...]:
    """The numbers of blocks at which to look; the last is `most`."""
    looks = [most]
    while looks[0] > max(FIRST, most // 3):
        looks.insert(0, max(FIRST, most // 3, int(looks[0] / GROWTH)))
    return tuple(looks)


@dataclass(frozen=True)
class Stopping:
    """The rule of one contest: whom to compare, at which looks, and what is enough."""

    baselines: Sequence[BaselineName]
    most: int
    """Blocks, at most."""
    confidence: float
    minimum_effect: float
    precision: float
    """Width of an interval, relative to its median, that is tight enough."""
    least_us: float = 0.0
    """Smallest difference that is told, in microseconds: two processes of one kernel may differ as long as they live."""
    clear: Literal["stops", "goes on"] = "stops"
    """Whether a verdict that no further block is likely to change ends the contest before it is tight."""

    def enough(self, samples: dict[str, list[float]]) -> bool:
        """Whether every comparison is settled; only ever true at a scheduled look."""
        count = len(samples["candidate"])
        if count not in schedule(self.most):
            return False
        return count == self.most or all(self._settled(self.speedup(samples, name)) for name in self.baselines)

    def speedup(self, samples: dict[str, list[float]], baseline: BaselineName) -> Ratio:
        """The candidate's against one baseline, with an interval that holds at all looks together."""
        return ratio(samples[baseline], samples["candidate"], self.confidence, len(schedule(self.most)))

    def versus(self, samples: dict[str, list[float]], baseline: BaselineName, effect_times: float = 1.0) -> Versus:
        """The comparison with one baseline; `effect_times` asks for a larger effect where the device was disturbed."""
        found = self.speedup(samples, baseline)
        effect = self.effect(samples[baseline]) * effect_times
        return Versus(baseline=baseline, speedup=found, verdict=verdict(found, effect))

    def effect(self, baseline_us: Sequence[float]) -> float:
        """The smallest relative difference from a baseline of these times that is told."""
        return max(self.minimum_effect, self.least_us / median(baseline_us))

    def _settled(self, found: Ratio) -> bool:
        return found.width <= self.precision or (self.clear == "stops" and self._clear(found))

    def _clear(self, found: Ratio) -> bool:
        """The whole interval says the same: faster, slower or nothing worth telling; and by how much, for ranking kernels."""
        edge = 1 + self.minimum_effect
        if found.blurred:
            return False
        return found.low > edge or found.high < 1 / edge or (found.low > 1 / edge and found.high < edge)
