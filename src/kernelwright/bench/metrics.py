"""Metrics: what is said of a set of cells, as pure functions of their records.

Every figure is a mean over tasks, and within a task over its cells, so that a task with more seeds weighs no more than
another. Only cells that ended are looked at; a proposer that gave up has not solved the task. Speedups are those of
the finals. Refuses to know strategies by anything but the one question whether their attempts are independent.
"""

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Literal

from kernelwright.bench.bootstrap import over_tasks
from kernelwright.bench.records import AtK, Baseline, CellResult, Estimate, FastP, Figures, Speedup

P = (0.0, 0.5, 1.0, 1.5, 2.0)
K = (1, 2, 5, 10, 20, 50)
INDEPENDENT = frozenset({"direct", "best_of_n"})
"""Strategies whose attempts know nothing of each other: only there does pass@k mean what it says."""
BASELINES: tuple[Baseline, ...] = ("eager", "compile")

Cells = Sequence[CellResult]
Against = Literal["eager", "compile", "naive"]


def figures(cells: Cells, naive: Mapping[str, float], *, independent: bool) -> Figures:
    """Everything that is said of these cells; `naive` is a task's speedup of the naive kernel over eager."""
    ended = [cell for cell in cells if cell.counts]
    first = [cell.first_right for cell in ended if cell.first_right is not None]
    against: tuple[Against, ...] = (*BASELINES, "naive") if naive else BASELINES
    return Figures(
        cells=len(ended),
        missing=len(cells) - len(ended),
        tasks=len({cell.cell.task for cell in ended}),
        correct=correctness(ended),
        fast=tuple(FastP(baseline=b, p=p, share=fast_p(ended, b, p)) for b in BASELINES for p in P),
        pass_at=pass_at(ended) if independent else (),
        solved_at=solved_at(ended),
        speedups=tuple(
            Speedup(baseline=b, over=o, mean=mean_speedup(ended, b, o, naive)) for b in against for o in _OVER
        ),
        first_right=sum(first) / len(first) if first else None,
        proposals=sum(len(cell.steps) for cell in cells),
        device_s=sum(cell.device_s for cell in cells),
        tokens=sum(cell.tokens for cell in cells),
        usd=sum(cell.usd for cell in cells),
        unpriced=any(cell.unpriced for cell in cells),
        drill=any(cell.drill for cell in cells),
        models=tuple(sorted({model for cell in cells for model in cell.models})),
    )


_OVER: tuple[Literal["solved", "all"], ...] = ("solved", "all")


def correctness(cells: Cells) -> Estimate | None:
    """Share of tasks that end with a right kernel."""
    return over_tasks(_by_task((cell, float(cell.correct)) for cell in cells))


def fast_p(cells: Cells, baseline: Baseline, p: float) -> Estimate | None:
    """fast_p of KernelBench (Ouyang et al. 2025, 4.2): share of tasks that are right and more than p times as fast.

    fast_0 is the correctness rate. A right kernel without a figure against the baseline is left out, since nothing is
    known of it; None where there is no figure at all.
    """
    if p == 0:
        return correctness(cells)
    known = [(cell, _ratio(cell, baseline)) for cell in cells if not cell.correct or _ratio(cell, baseline)]
    if not any(ratio for _, ratio in known) and any(cell.correct for cell in cells):
        return None
    return over_tasks(_by_task((cell, float(ratio is not None and ratio > p)) for cell, ratio in known))


def pass_at(cells: Cells) -> tuple[AtK, ...]:
    """pass@k (Chen et al. 2021, 3.2): chance that one of k independent attempts is right, unbiased.

    Of each cell's n attempts c are right in the search; k goes as far as the shortest cell.
    """
    made = [cell for cell in cells if cell.steps]
    least = min((len(cell.steps) for cell in made), default=0)
    found = []
    for k in _steps_of_k(least):
        counted = ((cell, estimate_pass(len(cell.steps), _right(cell), k)) for cell in made)
        share = over_tasks(_by_task((*counted, *((cell, 0.0) for cell in cells if not cell.steps))))
        found += [AtK(k=k, share=share)] if share else []
    return tuple(found)


def estimate_pass(n: int, c: int, k: int) -> float:
    """1 - C(n-c, k) / C(n, k): the unbiased estimator of pass@k from c right ones of n."""
    return 1.0 - math.comb(n - c, k) / math.comb(n, k)


def solved_at(cells: Cells) -> tuple[AtK, ...]:
    """solved@k: share of tasks for which one of the search's first k attempts is right.

    No pass@k: a later attempt may have learned from an earlier one.
    """
    most = max((len(cell.steps) for cell in cells), default=0)
    found = []
    for k in _steps_of_k(most):
        solved = ((c, float(c.first_right is not None and c.first_right <= k)) for c in cells)
        share = over_tasks(_by_task(solved))
        found += [AtK(k=k, share=share)] if share else []
    return tuple(found)


def mean_speedup(
    cells: Cells, against: Against, over: Literal["solved", "all"], naive: Mapping[str, float]
) -> Estimate | None:
    """Geometric mean of the final speedups, over the solved tasks or over all with 1.0 where nothing right was found.

    Over the naive kernel it is a ratio of two speedups over eager. A right kernel without a figure is left out.
    """
    logs: list[tuple[CellResult, float]] = []
    any_figure = False
    for cell in cells:
        ratio = speedup(cell, against, naive)
        any_figure |= ratio is not None
        if ratio is not None:
            logs.append((cell, math.log(ratio)))
        elif over == "all" and not cell.correct and (against != "naive" or cell.cell.task in naive):
            logs.append((cell, 0.0))
    return over_tasks(_by_task(logs), math.exp) if any_figure or not any(cell.correct for cell in cells) else None


def speedup(cell: CellResult, against: Against, naive: Mapping[str, float]) -> float | None:
    """A cell's final speedup; None where there is none."""
    if against != "naive":
        return _ratio(cell, against)
    eager, first = _ratio(cell, "eager"), naive.get(cell.cell.task)
    return eager / first if eager and first else None


def _ratio(cell: CellResult, baseline: Baseline) -> float | None:
    found = cell.eager if baseline == "eager" else cell.compile
    return found.median if found and cell.correct else None


def _right(cell: CellResult) -> int:
    return sum(step.right for step in cell.steps)


def _steps_of_k(most: int) -> list[int]:
    return sorted({k for k in (*K, most) if 1 <= k <= most})


def _by_task(values: Iterable[tuple[CellResult, float]]) -> dict[str, list[float]]:
    found: dict[str, list[float]] = {}
    for cell, value in values:
        found.setdefault(cell.cell.task, []).append(value)
    return found
