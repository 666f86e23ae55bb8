"""A portfolio: a few schedules of one task, each for the sizes at which it was the best, and PyTorch where none is faster.

What each schedule came to on each workload travels in memos, so that the author stays without state. A portfolio is worth
judging where its mean, put together from what its members were measured at, is clearly above the best member's alone.
"""

from collections.abc import Iterable, Mapping, Sequence
from math import log

from pydantic import JsonValue

from kernelwright.propose.author.lower.choice import ORIGINAL, Choice, choice
from kernelwright.records.attempt import Attempt
from kernelwright.records.base import Record
from kernelwright.records.evaluation import Measured
from kernelwright.records.workloads import WorkloadPoint, WorkloadSet
from kernelwright.tasks.free_axes import Sizes

MOST = 4
"""Members."""
GAIN = 0.03
"""Of the logarithm of the mean, that makes a portfolio worth a judgement: the largest of noisy figures flatters."""


class Kept(Record):
    """A schedule, and its speedup over eager on each workload, by the workload's words."""

    schedule: dict[str, JsonValue]
    speedups: dict[str, float]


def measured(attempt: Attempt) -> dict[str, float]:
    """What an attempt came to on each workload that was timed."""
    rows = getattr(attempt.evaluation, "workloads", ())
    found = {row.point.words: row.evaluation.timing.against("eager") for row in rows
             if not row.drawn and isinstance(row.evaluation, Measured)}  # fmt: skip
    return {words: versus.speedup.median for words, versus in found.items() if versus is not None}


def of_use(known: Iterable[Kept]) -> tuple[Kept, ...]:
    """Those that are the best on some workload; of two alike the first."""
    listed = list(known)
    names = dict.fromkeys(name for one in listed for name in one.speedups)
    best = [max(listed, key=lambda one, name=name: one.speedups.get(name, 0.0)) for name in names]  # type: ignore[misc]
    return tuple(one for n, one in enumerate(listed) if any(one is b for b in best) and one not in listed[:n])


class Portfolio(Record):
    """Members, and which of them serves each workload: the number, or `ORIGINAL`."""

    members: tuple[Kept, ...]
    serves: dict[str, int]

    def over(self, workloads: WorkloadSet) -> Choice:
        """The choice for any sizes: as at the nearest workload."""
        known = [(point.axes, frozenset({self.serves[point.words]})) for point in _counting(workloads, self.serves)]
        return choice(known, lambda sizes: min(known, key=lambda one: _away(one[0], sizes))[1])


def chosen(known: Sequence[Kept], workloads: WorkloadSet) -> Portfolio | None:
    """The best portfolio of so few; None where one schedule is about as good."""
    points = [point for point in workloads.points if point.weight]
    whole = [one for one in known if all(point.words in one.speedups for point in points)]
    if not whole:
        return None
    members: list[Kept] = []
    for _ in range(MOST):
        best = max(whole, key=lambda one: _mean(points, [*members, one]))
        if members and _mean(points, [*members, best]) <= _mean(points, members):
            break
        members.append(best)
    alone = max(_mean(points, [one], original=False) for one in whole)
    if _mean(points, members) < alone + GAIN or all(_best(point, members) == ORIGINAL for point in points):
        return None
    serves = {point.words: _best(point, members) for point in points}
    used = sorted({number for number in serves.values() if number != ORIGINAL})
    again = {ORIGINAL: ORIGINAL, **{number: n for n, number in enumerate(used)}}
    return Portfolio(members=tuple(members[n] for n in used), serves={words: again[n] for words, n in serves.items()})


def _mean(points: Sequence[WorkloadPoint], members: Sequence[Kept], original: bool = True) -> float:
    """The logarithm of the weighted mean of the best member's speedups; where all are slower, PyTorch is a member."""
    total = sum(point.weight for point in points)
    least = 1.0 if original else 0.0
    best = [(p.weight, max(least, *(one.speedups[p.words] for one in members))) for p in points]
    return sum(weight * log(max(speedup, 1e-9)) for weight, speedup in best) / total


def _best(point: WorkloadPoint, members: Sequence[Kept]) -> int:
    best = max(range(len(members)), key=lambda n: members[n].speedups[point.words])
    return best if members[best].speedups[point.words] >= 1 else ORIGINAL


def _counting(workloads: WorkloadSet, serves: Mapping[str, int]) -> list[WorkloadPoint]:
    return [point for point in workloads.points if point.words in serves]


def _away(one: Sizes, other: Sizes) -> float:
    return sum(abs(log(max(1, one[name]) / max(1, size))) for name, size in other.items())
