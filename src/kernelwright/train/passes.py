"""pass@k with intervals. Pure functions of which samples of which tasks were right."""

import random
from collections.abc import Sequence
from math import comb
from statistics import fmean

from kernelwright.records.base import Record

RESAMPLES = 2000
CONFIDENCE = 0.95


class PassRate(Record):
    """The chance that at least one of k samples of a task is right, as a mean over tasks."""

    k: int
    rate: float
    low: float
    high: float
    """The 95 % interval over tasks, by resampling them."""
    tasks: int
    samples: int


def pass_rate(right: Sequence[Sequence[bool]], k: int, seed: int = 0) -> PassRate:
    """pass@k by the unbiased estimator (Chen et al., arXiv 2107.03374, section 2.1).

    Args:
        right: By task and sample; every task has at least k samples.
        k: Samples that one may take.
        seed: Of the resampling.
    """
    each = [1.0 - comb(len(row) - sum(row), k) / comb(len(row), k) for row in right]
    low, high = interval(each, seed)
    return PassRate(k=k, rate=fmean(each), low=low, high=high, tasks=len(each), samples=len(right[0]))


def interval(each: Sequence[float], seed: int = 0) -> tuple[float, float]:
    """The 95 % interval of a mean over tasks, by resampling them. Of differences task by task it is a paired one."""
    draw = random.Random(seed)
    means = sorted(fmean(draw.choices(each, k=len(each))) for _ in range(RESAMPLES))
    tail = int(RESAMPLES * (1.0 - CONFIDENCE) / 2)
    return means[tail], means[-1 - tail]
