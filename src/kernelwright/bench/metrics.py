"""Metrics: the figures for a set of cells, as pure functions of their records, with their intervals over tasks.

Every figure is a mean over tasks, and within a task over its cells, so that a task with more seeds weighs no more than
another. Every settled cell is in every figure: what was not admitted, was given up or got no answer is not solved, so
that an arm cannot look better by failing where it is hard. Speedups are those of the finals.

Means of speedups have percentile bootstrap intervals (Efron and Tibshirani 1993): tasks are drawn with replacement, and
within each task its seeds (as in Davison and Hinkley 1997, 3.8). Shares have Wilson's. The generator is seeded by the
number of tasks alone, so equal samples give equal intervals. There is no interval below `FEWEST` tasks, nor where no
draw differs from another: the bootstrap cannot see what the sample does not show, and a width of zero would claim a
certainty that nobody has.
"""

import math
import random
from collections.abc import Callable, Iterable, Mapping, Sequence
from statistics import NormalDist, fmean
from typing import Literal, TypeVar

from kernelwright.bench.records import AtK, Baseline, CellFigures, CellResult, FastP, Mean, Speedup, Spent

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
    means = sorted(fmean([fmean(_resample(draw, g)) for g in _resample(draw, groups)]) for _ in range(ROUNDS))
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


def _resample(draw: random.Random, values: Sequence[T]) -> Sequence[T]:
    return values if len(values) == 1 else draw.choices(values, k=len(values))


def _quantile(ordered: Sequence[float], share: float) -> float:
    return ordered[min(int(share * len(ordered)), len(ordered) - 1)]


P = (0.0, 0.5, 1.0, 1.5, 2.0)
K = (1, 2, 5, 10, 20, 50)
BASELINES: tuple[Baseline, ...] = ("eager", "compile")

Cells = Sequence[CellResult]
Against = Literal["eager", "compile", "naive"]
Over = Literal["solved", "all"]
_OVER: tuple[Over, ...] = ("solved", "all")


def figures(
    cells: Cells, naive: Mapping[str, float], oracles: Mapping[str, float] | None = None, *, independent: bool
) -> CellFigures:
    """Everything that is said of these cells; `naive` and `oracles` are speedups of a task's such kernel over eager."""
    known = [cell for cell in cells if cell.settled]
    first = [cell.first_right for cell in known if cell.first_right is not None]
    against: tuple[Against, ...] = (*BASELINES, "naive") if naive else BASELINES
    return CellFigures(
        cells=len(known),
        missing=len(cells) - len(known),
        tasks=len({cell.cell.task for cell in known}),
        correct=correctness(known),
        fast=tuple(FastP(baseline=b, p=p, share=fast_p(known, b, p)) for b in BASELINES for p in P),
        pass_at=pass_at(known) if independent else (),
        solved_at=solved_at(known),
        speedups=tuple(
            Speedup(baseline=b, over=o, mean=mean_speedup(known, b, o, naive)) for b in against for o in _OVER
        ),
        perf=perf(known, oracles or {}),
        perf_at=perf_at(known, oracles or {}),
        per_pass={what: found for what in SPENT if (found := per_pass(known, what))},
        first_right=fmean(first) if first else None,
        proposals=sum(len(cell.steps) for cell in cells),
        device_s=sum(cell.device_s for cell in cells),
        tokens=sum(cell.tokens for cell in cells),
        usd=sum(cell.usd for cell in cells),
        unpriced=any(cell.unpriced for cell in cells),
        drill=any(cell.drill for cell in cells),
        models=tuple(sorted({model for cell in cells for model in cell.models})),
    )


def correctness(cells: Cells) -> Mean | None:
    """Share of tasks that end with a right kernel."""
    return share_of_tasks(_by_task((cell, float(cell.correct)) for cell in cells))


def fast_p(cells: Cells, baseline: Baseline, p: float) -> Mean | None:
    """fast_p of KernelBench (Ouyang et al. 2025, 4.2): share of all tasks that are right and more than p times as fast.

    fast_0 is the correctness rate. A right kernel without a figure against the baseline is not known to be faster, and
    counts as if it were not; None where right kernels have no figure at all.
    """
    if p == 0:
        return correctness(cells)
    ratios = [(cell, _ratio(cell, baseline)) for cell in cells]
    if not any(ratio for _, ratio in ratios) and any(cell.correct for cell in cells):
        return None
    return share_of_tasks(_by_task((cell, float(ratio is not None and ratio > p)) for cell, ratio in ratios))


def pass_at(cells: Cells) -> tuple[AtK, ...]:
    """pass@k (Chen et al. 2021, 3.2): chance that one of k independent attempts is right, unbiased.

    Of each cell's n attempts c are right in the search. For each k: the cells with n >= k, and those that failed before
    their first attempt, as not solved.
    """
    found: list[AtK] = []
    for k in _steps_of_k(cells):
        counted = [cell for cell in cells if len(cell.steps) >= k or not cell.steps]
        values = ((c, estimate_pass(len(c.steps), _right(c), k) if c.steps else 0.0) for c in counted)
        share = share_of_tasks(_by_task(values))
        found += [AtK(k=k, share=share, cells=len(counted))] if share else []
    return tuple(found)


def estimate_pass(n: int, c: int, k: int) -> float:
    """1 - C(n-c, k) / C(n, k): the unbiased estimator of pass@k from c right ones of n."""
    return 1.0 - math.comb(n - c, k) / math.comb(n, k)


def solved_at(cells: Cells) -> tuple[AtK, ...]:
    """solved@k: share of tasks for which one of the search's first k attempts is right.

    No pass@k: a later attempt may have learned from an earlier one.
    """
    found: list[AtK] = []
    for k in _steps_of_k(cells):
        solved = ((c, float(c.first_right is not None and c.first_right <= k)) for c in cells)
        share = share_of_tasks(_by_task(solved))
        found += [AtK(k=k, share=share, cells=len(cells))] if share else []
    return tuple(found)


def perf(cells: Cells, oracles: Mapping[str, float]) -> Mean | None:
    """TritonGym's Perf: the oracle's time over the final kernel's, 0 where none is right; the mean over all tasks.

    A task whose oracle was not timed is left out, and so is a right kernel without a figure.
    """
    ratios = [(cell, (_ratio(cell, "eager"), cell.correct)) for cell in cells]
    return over_tasks(_by_task(_over_oracle(ratios, oracles)))


def perf_at(cells: Cells, oracles: Mapping[str, float]) -> tuple[AtK, ...]:
    """Perf@k: likewise of the fastest of a cell's first k attempts that are right, by the figures of the search."""
    found: list[AtK] = []
    for k in _steps_of_k(cells) if oracles else ():
        ratios = [(cell, (_fastest(cell, k), any(step.right for step in cell.steps[:k]))) for cell in cells]
        mean = over_tasks(_by_task(_over_oracle(ratios, oracles)))
        found += [AtK(k=k, share=mean, cells=len(cells))] if mean else []
    return tuple(found)


def _fastest(cell: CellResult, k: int) -> float | None:
    timed = (step.eager for step in cell.steps[:k] if step.right)
    return max((found.median for found in timed if found and not found.blurred), default=None)


def _over_oracle(
    ratios: Iterable[tuple[CellResult, tuple[float | None, bool]]], oracles: Mapping[str, float]
) -> Iterable[tuple[CellResult, float]]:
    for cell, (ratio, right) in ratios:
        oracle = oracles.get(cell.cell.task)
        if oracle and (ratio or not right):
            yield cell, (ratio or 0.0) / oracle


SPENT: tuple[Spent, ...] = ("device_s", "tokens", "usd")


def per_pass(cells: Cells, what: Spent) -> Mean | None:
    """What was spent on all tasks for each that ended right; its interval draws tasks. None where none is right.

    Money whose price nobody knows is no figure. There is no interval where a draw of tasks may hold no right one.
    """
    groups: dict[str, tuple[float, int]] = {}
    for cell in cells:
        spent, right = groups.get(cell.cell.task, (0.0, 0))
        groups[cell.cell.task] = spent + getattr(cell, what), right + cell.correct
    if not any(right for _, right in groups.values()) or (what == "usd" and any(cell.unpriced for cell in cells)):
        return None
    tasks = [groups[name] for name in sorted(groups)]
    draw = random.Random(len(tasks))
    drawn = sorted(_each(draw.choices(tasks, k=len(tasks))) for _ in range(ROUNDS))
    low, high = (_quantile(drawn, share) for share in ((1 - CONFIDENCE) / 2, (1 + CONFIDENCE) / 2))
    if len(tasks) < FEWEST or low == high or math.isinf(high):
        return Mean(value=_each(tasks), low=None, high=None, tasks=len(tasks))
    return Mean(value=_each(tasks), low=low, high=high, tasks=len(tasks))


def _each(tasks: Sequence[tuple[float, int]]) -> float:
    right = sum(number for _, number in tasks)
    return sum(spent for spent, _ in tasks) / right if right else math.inf


def mean_speedup(cells: Cells, against: Against, over: Over, naive: Mapping[str, float]) -> Mean | None:
    """Geometric mean of the final speedups: of the right kernels as they are, or over all tasks.

    Over all tasks a cell counts as the larger of 1.0 and its speedup, as in the curves: a person keeps the baseline where
    the kernel is slower or there is none. So writing nothing is never better than writing something slow, and no worse.
    Over the naive kernel it is a ratio of two speedups over eager. A right kernel without a figure is left out.
    """
    logs: list[tuple[CellResult, float]] = []
    any_figure = False
    for cell in cells:
        ratio = speedup(cell, against, naive)
        any_figure |= ratio is not None
        if ratio is not None:
            logs.append((cell, math.log(ratio) if over == "solved" else max(0.0, math.log(ratio))))
        elif over == "all" and not cell.correct and (against != "naive" or cell.cell.task in naive):
            logs.append((cell, 0.0))
    return over_tasks(_by_task(logs), math.exp) if any_figure or not any(cell.correct for cell in cells) else None


def speedup(cell: CellResult, against: Against, naive: Mapping[str, float]) -> float | None:
    """A cell's final speedup; None where there is none, or none that can be claimed: a blurred one is in no mean."""
    if against != "naive":
        return _ratio(cell, against)
    eager, first = _ratio(cell, "eager"), naive.get(cell.cell.task)
    return eager / first if eager and first else None


def _ratio(cell: CellResult, baseline: Baseline) -> float | None:
    found = cell.eager if baseline == "eager" else cell.compile
    return found.median if found and cell.correct and not found.blurred else None


def _right(cell: CellResult) -> int:
    return sum(step.right for step in cell.steps)


def _steps_of_k(cells: Cells) -> list[int]:
    most = max((len(cell.steps) for cell in cells), default=0)
    return sorted({k for k in (*K, most) if 1 <= k <= most})


def _by_task(values: Iterable[tuple[CellResult, float]]) -> dict[str, list[float]]:
    found: dict[str, list[float]] = {}
    for cell, value in values:
        found.setdefault(cell.cell.task, []).append(value)
    return found
