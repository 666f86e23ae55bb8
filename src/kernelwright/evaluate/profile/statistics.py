"""From paired samples to a ratio, its interval and a verdict. Knows no clock and no device."""

import numpy as np

from kernelwright.records.measure import BaselineName, Ratio, Verdict, Versus

_RESAMPLES = 4000


def ratio(baseline: list[float], candidate: list[float], confidence: float) -> Ratio:
    """Median of the blocks' ratios baseline / candidate, with a percentile bootstrap interval of the median.

    Blocks are resampled whole, since both sides of a block share their inputs and their moment. The generator is
    seeded by the samples' number alone: the same samples give the same interval anywhere.
    """
    logs = np.log(np.asarray(baseline)) - np.log(np.asarray(candidate))
    generator = np.random.default_rng(logs.size)
    picks = generator.integers(0, logs.size, (_RESAMPLES, logs.size))
    medians = np.median(logs[picks], axis=1)
    tail = (1 - confidence) / 2
    low, high = np.quantile(medians, [tail, 1 - tail])
    return Ratio(
        median=float(np.exp(np.median(logs))), low=float(np.exp(low)), high=float(np.exp(high)), confidence=confidence
    )


def verdict(speedup: Ratio, minimum_effect: float) -> Verdict:
    """Faster or slower only if the interval excludes one and the effect is large enough to mean something."""
    if speedup.low > 1 and speedup.median > 1 + minimum_effect:
        return "faster"
    if speedup.high < 1 and speedup.median < 1 / (1 + minimum_effect):
        return "slower"
    return "inconclusive"


def versus(
    name: BaselineName, baseline: list[float], candidate: list[float], confidence: float, minimum_effect: float
) -> Versus:
    """The comparison with one baseline."""
    speedup = ratio(baseline, candidate, confidence)
    return Versus(baseline=name, speedup=speedup, verdict=verdict(speedup, minimum_effect))
