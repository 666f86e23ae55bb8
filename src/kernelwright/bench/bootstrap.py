"""Bootstrap intervals over tasks: tasks are drawn with replacement, and within each task its seeds.

Decides the resampling (Efron and Tibshirani 1993, percentile intervals; two levels as in Davison and Hinkley 1997,
3.8) and that equal samples give equal intervals: the generator is seeded by the number of tasks alone.
"""

import math
import random
from collections.abc import Callable, Mapping, Sequence
from typing import TypeVar

from kernelwright.bench.records import Estimate

T = TypeVar("T")

ROUNDS = 1000
CONFIDENCE = 0.95

Samples = Mapping[str, Sequence[float]]
"""The values of each task, one a seed (or a cell)."""


def over_tasks(samples: Samples, shown: Callable[[float], float] = float) -> Estimate | None:
    """The mean over tasks of the mean over each task's values; None without any.

    `shown` turns a mean into what is reported, such as `math.exp` for the mean of logarithms; it must be monotone.
    """
    groups = [list(values) for _, values in sorted(samples.items()) if values]
    if not groups:
        return None
    draw = random.Random(len(groups))
    means = sorted(_mean([_mean(_again(draw, g)) for g in _again(draw, groups)]) for _ in range(ROUNDS))
    low, high = (_quantile(means, share) for share in ((1 - CONFIDENCE) / 2, (1 + CONFIDENCE) / 2))
    middle = _mean([_mean(group) for group in groups])
    return Estimate(value=shown(middle), low=shown(low), high=shown(high), tasks=len(groups))


def _again(draw: random.Random, values: Sequence[T]) -> Sequence[T]:
    return values if len(values) == 1 else draw.choices(values, k=len(values))


def _mean(values: Sequence[float]) -> float:
    return math.fsum(values) / len(values)


def _quantile(ordered: Sequence[float], share: float) -> float:
    return ordered[min(int(share * len(ordered)), len(ordered) - 1)]
