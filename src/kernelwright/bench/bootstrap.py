"""Intervals over tasks: bootstrap for means of speedups, Wilson's for shares.

Percentile intervals (Efron and Tibshirani 1993): tasks are drawn with replacement, and within each task its seeds (as
in Davison and Hinkley 1997, 3.8). The generator is seeded by the number of tasks alone, so equal samples give equal
intervals. There is no interval below `FEWEST` tasks, nor where no draw differs from another: the bootstrap cannot see
what the sample does not show, and a width of zero would claim a certainty that nobody has.
"""

import math
import random
from collections.abc import Callable, Mapping, Sequence
from statistics import NormalDist, fmean
from typing import TypeVar

from kernelwright.bench.records import Mean

T = TypeVar("T")

ROUNDS = 1000
CONFIDENCE = 0.95
FEWEST = 3
"""Tasks below which nothing can be said of other tasks."""

Samples = Mapping[str, Sequence[float]]
"""The values of each task, one a seed (or a cell)."""


def over_tasks(samples: Samples, shown: Callable[[float], float] = float) -> Mean | None:
    """The mean over tasks of the mean over each task's values; None without any.

    `shown` turns a mean into what is reported, such as `math.exp` for the mean of logarithms; it must be monotone.
    """
    groups = _groups(samples)
    if not groups:
        return None
    draw = random.Random(len(groups))
    means = sorted(fmean([fmean(_again(draw, g)) for g in _again(draw, groups)]) for _ in range(ROUNDS))
    low, high = (_quantile(means, share) for share in ((1 - CONFIDENCE) / 2, (1 + CONFIDENCE) / 2))
    value = shown(fmean([fmean(group) for group in groups]))
    if len(groups) < FEWEST or low == high:
        return Mean(value=value, low=None, high=None, tasks=len(groups))
    return Mean(value=value, low=shown(low), high=shown(high), tasks=len(groups))


def share_of_tasks(samples: Samples) -> Mean | None:
    """The same for values from 0 to 1, with the score interval of Wilson 1927 over the number of tasks; None without any.

    A task's mean over its seeds varies less than a yes or no with the same mean: the interval is then wider than it need be.
    """
    groups = _groups(samples)
    if not groups:
        return None
    n, share = len(groups), fmean([fmean(group) for group in groups])
    if n < FEWEST:
        return Mean(value=share, low=None, high=None, tasks=n)
    z = NormalDist().inv_cdf((1 + CONFIDENCE) / 2)
    middle = (share + z * z / (2 * n)) / (1 + z * z / n)
    half = z / (1 + z * z / n) * math.sqrt(share * (1 - share) / n + z * z / (4 * n * n))
    return Mean(value=share, low=min(max(0.0, middle - half), share), high=max(min(1.0, middle + half), share), tasks=n)


def _groups(samples: Samples) -> list[list[float]]:
    return [list(values) for _, values in sorted(samples.items()) if values]


def _again(draw: random.Random, values: Sequence[T]) -> Sequence[T]:
    return values if len(values) == 1 else draw.choices(values, k=len(values))


def _quantile(ordered: Sequence[float], share: float) -> float:
    return ordered[min(int(share * len(ordered)), len(ordered) - 1)]
