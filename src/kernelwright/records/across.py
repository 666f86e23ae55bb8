"""What a kernel's workloads come to together: the weighted mean of its speedups, the worst, protected ones that are slower."""

import math
from collections.abc import Sequence
from itertools import pairwise

from kernelwright.records.evaluation import Compiled, Evaluation, Measured, Verified, WorkloadResult
from kernelwright.records.measure import BaselineName, Ratio, Versus


def timed(rows: Sequence[WorkloadResult]) -> list[tuple[WorkloadResult, Measured]]:
    """The workloads that were timed and count."""
    return [(row, row.evaluation) for row in rows if row.point.weight and isinstance(row.evaluation, Measured)]


def against(rows: Sequence[WorkloadResult], baseline: BaselineName) -> list[tuple[WorkloadResult, Versus]]:
    """Each workload's comparison with a baseline, where there is one."""
    found = [(row, one.timing.against(baseline)) for row, one in timed(rows)]
    return [(row, versus) for row, versus in found if versus is not None]


def mean(rows: Sequence[WorkloadResult], baseline: BaselineName) -> Ratio | None:
    """The geometric mean of the speedups by weight; None where not every workload was compared.

    Intervals are put together as those of independent errors: half widths of logarithms, by weight, in quadrature.
    """
    found = against(rows, baseline)
    total = sum(row.point.weight for row, _ in found)
    if not found or len(found) < len(timed(rows)) or not total or any(v.speedup.low <= 0 for _, v in found):
        return None
    shares = [(row.point.weight / total, versus.speedup) for row, versus in found]
    middle = sum(share * math.log(ratio.median) for share, ratio in shares)
    below = math.hypot(*(share * math.log(ratio.median / ratio.low) for share, ratio in shares))
    above = math.hypot(*(share * math.log(ratio.high / ratio.median) for share, ratio in shares))
    return Ratio(
        median=math.exp(middle),
        low=math.exp(middle - below),
        high=math.exp(middle + above),
        confidence=min(ratio.confidence for _, ratio in shares),
    )


def worst(rows: Sequence[WorkloadResult], baseline: BaselineName) -> tuple[WorkloadResult, Versus] | None:
    """The workload with the smallest speedup."""
    return min(against(rows, baseline), key=lambda pair: pair[1].speedup.median, default=None)


def slower_protected(rows: Sequence[WorkloadResult], baseline: BaselineName) -> list[tuple[WorkloadResult, Versus]]:
    """The protected workloads on which it is surely slower, the worst first."""
    found = [(row, v) for row, v in against(rows, baseline) if row.point.protected and v.verdict == "slower"]
    return sorted(found, key=lambda pair: pair[1].speedup.median)


def ranked(rows: Sequence[WorkloadResult], baseline: BaselineName = "eager") -> list[WorkloadResult]:
    """What was wrong first, then protected workloads, each from the smallest speedup on, and what was not timed at the end."""

    def key(row: WorkloadResult) -> tuple[bool, bool, bool, float]:
        found = row.evaluation.timing.against(baseline) if isinstance(row.evaluation, Measured) else None
        right = row.evaluation is None or isinstance(row.evaluation, Measured | Verified | Compiled)
        return right, found is None, not row.point.protected, found.speedup.median if found else 0.0

    return sorted(rows, key=key)


def crossings(rows: Sequence[WorkloadResult], baseline: BaselineName) -> tuple[str, list[tuple[int, int]]]:
    """The one axis that differs between workloads, and the sizes between which the speedup crosses one; none of several."""
    found = against(rows, baseline)
    names = {name for row, _ in found for name in row.point.axes}
    varied = [name for name in names if len({row.point.axes.get(name) for row, _ in found}) > 1]
    if len(varied) != 1:
        return "", []
    sizes = sorted((row.point.axes[varied[0]], versus.speedup.median > 1) for row, versus in found)
    return varied[0], [(low, high) for (low, before), (high, after) in pairwise(sizes) if before != after]


def place(evaluation: Evaluation) -> str:
    """Where a kernel that is not right went wrong, such as `batch=1, hidden=333`; empty of a task with one workload."""
    return evaluation.workloads[-1].point.words if evaluation.workloads else ""
