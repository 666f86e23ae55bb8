"""From paired samples to a ratio, its interval and a verdict. Says when a benchmark has seen enough.

The interval is that of the sign test: order statistics of the blocks' log ratios. It assumes no distribution and no
variance. The order of sides is drawn anew for every block, so that of two equal sides each is ahead with a chance of one
half, independently of all other blocks and whatever the machine drifts through: for A against A the level is exact.

A clock that looks after every block and stops when it likes what it sees calls noise a difference. Here the numbers of
blocks at which it looks are known before the first block, each look is entitled to its share of the allowed error, and
the intervals of all looks hold together (`ratio`), so that stopping at any of them, for any reason, keeps the level. A
benchmark that the budget of seconds ends between two looks has used one look in place of the next: time does not know
which side was ahead.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median
from typing import Literal

import numpy as np

from kernelwright.records.measure import BaselineName, Ratio, Versus

FIRST = 10
"""Fewest blocks of a first look: the least of which the sign test, in up to four looks, can be sure to 99 %."""
GROWTH = 1.5
"""One look to the next: more looks would each have to be surer."""


def ratio(baseline: list[float], candidate: list[float], confidence: float, looks: int = 1) -> Ratio:
    """Median of the blocks' ratios baseline / candidate with an interval that holds at up to `looks` looks together.

    Each look may err with its share of what `confidence` leaves (Bonferroni), so that however the looks depend on each
    other, all their intervals hold at once with `confidence`.

    Raises:
        ValueError: there are fewer than two blocks.
    """
    return _ratio(np.log(np.asarray(baseline)) - np.log(np.asarray(candidate)), confidence, looks)


def through(first: Ratio, second: Ratio) -> Ratio:
    """The product of two ratios from different samples; both intervals must hold, hence the lower confidence of the two.

    For a pair that holds with confidence c together, make each with (1 + c) / 2.
    """
    held = first.confidence + second.confidence - 1
    return Ratio(
        median=first.median * second.median, low=first.low * second.low, high=first.high * second.high, confidence=held
    )


def versus(
    name: BaselineName, baseline: list[float], candidate: list[float], confidence: float, minimum_effect: float
) -> Versus:
    """The comparison with one baseline, from blocks whose number was fixed beforehand."""
    return Versus.judged(name, ratio(baseline, candidate, confidence), minimum_effect)


def _ratio(logs: "np.ndarray[tuple[int], np.dtype[np.float64]]", confidence: float, looks: int) -> Ratio:
    if logs.size < 2:
        raise ValueError(f"an interval needs two blocks at least, not {logs.size}")
    alpha = (1 - confidence) / looks
    ordered = np.sort(logs)
    middle, rank = float(np.median(ordered)), _rank(logs.size, alpha)
    if rank:
        low, high = float(ordered[rank - 1]), float(ordered[-rank])
    else:
        # Too few blocks for any order statistic (nine at 99 % in three looks): the logs are then taken to be normal.
        half = student_t_quantile(alpha, logs.size - 1) * float(np.std(ordered, ddof=1)) / math.sqrt(logs.size)
        mean = float(np.mean(ordered))
        low, high = min(mean - half, middle), max(mean + half, middle)
    return Ratio(median=math.exp(middle), low=math.exp(low), high=math.exp(high), confidence=confidence)


def _rank(count: int, alpha: float) -> int:
    """The largest r with P(fewer than r of `count` fair coins show heads) <= alpha / 2; 0 where there is none."""
    tail, rank = 0.0, 0
    while rank < count // 2:
        tail += math.comb(count, rank) / 2**count
        if tail > alpha / 2:
            break
        rank += 1
    return rank


def student_t_quantile(alpha: float, freedom: int) -> float:
    """The two-sided quantile of Student's t, by bisection."""
    low, high = 0.0, 1e6
    for _ in range(80):
        middle = (low + high) / 2
        low, high = (middle, high) if _student_t_probability(middle, freedom) < 1 - alpha else (low, middle)
    return high


def _student_t_probability(t: float, freedom: int) -> float:
    """P(|T| < t), exactly: the finite series of Abramowitz and Stegun, 26.7.3 and 26.7.4."""
    angle = math.atan(t / math.sqrt(freedom))
    sine, cosine = math.sin(angle), math.cos(angle)
    odd = freedom % 2
    term, total = (cosine if odd else 1.0), 0.0
    for k in range(1 + odd, freedom, 2):
        total += term
        term *= cosine * cosine * k / (k + 1)
    return 2 / math.pi * (angle + sine * total) if odd else sine * total


def schedule(most: int) -> tuple[int, ...]:
    """The numbers of blocks at which to look; the last is `most`."""
    looks = [most]
    while looks[0] > max(FIRST, most // 3):
        looks.insert(0, max(FIRST, most // 3, int(looks[0] / GROWTH)))
    return tuple(looks)


@dataclass(frozen=True)
class Stopping:
    """The rule of one benchmark: whom to compare, at which looks, and what is enough."""

    baselines: Sequence[BaselineName]
    most: int
    """Blocks, at most."""
    confidence: float
    minimum_effect: float
    precision: float
    """Width of an interval, relative to its median, that is tight enough."""
    least_us: float = 0.0
    """Smallest difference that is told, in microseconds: two processes of one kernel may differ as long as they live."""
    least_effect: float = 0.0
    """Smallest relative difference that is told, beside `minimum_effect`: what two processes of one program may differ by."""
    clear: Literal["stops", "goes on"] = "stops"
    """Whether a verdict that no further block is likely to change ends the benchmark before it is tight."""

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
        effect = self.effect(samples[baseline]) * effect_times
        return Versus.judged(baseline, self.speedup(samples, baseline), effect)

    def effect(self, baseline_us: Sequence[float]) -> float:
        """The smallest relative difference from a baseline of these times that is told."""
        return max(self.minimum_effect, self.least_effect, self.least_us / median(baseline_us))

    def _settled(self, found: Ratio) -> bool:
        return found.width <= self.precision or (self.clear == "stops" and self._clear(found))

    def _clear(self, found: Ratio) -> bool:
        """The whole interval says the same: faster, slower or nothing worth telling; and by how much, for ranking kernels."""
        edge = 1 + self.minimum_effect
        if found.blurred:
            return False
        return found.low > edge or found.high < 1 / edge or (found.low > 1 / edge and found.high < edge)
