"""Curves: the best speedup so far against what was spent, averaged over tasks.

A cell's curve is a staircase: the larger of 1.0 (a person keeps eager until there is something better) and the search
figure of the best attempt so far. Another attempt takes its place when it is faster and surely so: larger in its median and
in the lower end of its interval. So a staircase never goes down. A cell that ended early keeps its last step, one that failed
stays at eager. Curves are geometric means over tasks, and within a task over seeds. Search figures: they show the way, not the
result.
"""

import bisect
import math
from collections.abc import Callable, Sequence
from statistics import fmean
from typing import TYPE_CHECKING

from kernelwright.bench.records import CellResult, Curve, Point, Step

if TYPE_CHECKING:
    from kernelwright.records.measure import Ratio

POINTS = 48
"""Most points of a curve over a continuous axis."""

Stairs = tuple[list[float], list[float]]
"""What had been spent at each step, and the logarithm of the best speedup from there."""


def curves(cells: Sequence[CellResult]) -> tuple[Curve, ...]:
    """One curve for each thing that can be spent; none where nothing was timed."""
    ended = [cell for cell in cells if cell.settled]
    if not any(step.eager for cell in ended for step in cell.steps):
        return ()
    longest = max(len(cell.steps) for cell in ended)
    made = [Curve(axis="proposals", points=_mean(ended, lambda n, step: n + 1.0, [*map(float, range(longest + 1))]))]
    last_s = max(cell.device_s for cell in ended)
    if last_s:
        made.append(Curve(axis="device seconds", points=_mean(ended, lambda n, step: step.device_s, _grid(last_s))))
    last_tokens = max(cell.tokens for cell in ended)
    if last_tokens:
        made.append(Curve(axis="tokens", points=_mean(ended, lambda n, step: float(step.tokens), _grid(last_tokens))))
    return tuple(made)


def stairs(cell: CellResult, spent: Callable[[int, Step], float]) -> Stairs:
    """The staircase of one cell, beginning with eager itself."""
    where, heights = [0.0], [0.0]
    best: Ratio | None = None
    for number, step in enumerate(cell.steps):
        found = step.eager
        if found is not None and (best is None or (found.low > best.low and found.median > best.median)):
            best = found
            where.append(spent(number, step))
            heights.append(max(0.0, math.log(found.median)))
    return where, heights


def _mean(cells: Sequence[CellResult], spent: Callable[[int, Step], float], grid: Sequence[float]) -> tuple[Point, ...]:
    tasks: dict[str, list[Stairs]] = {}
    for cell in cells:
        tasks.setdefault(cell.cell.task, []).append(stairs(cell, spent))
    return tuple(Point(spent=x, speedup=math.exp(fmean([fmean([_at(s, x) for s in g]) for g in tasks.values()])))
                 for x in grid)  # fmt: skip


def _at(found: Stairs, x: float) -> float:
    return found[1][bisect.bisect_right(found[0], x) - 1]


def _grid(last: float) -> list[float]:
    return [last * i / POINTS for i in range(POINTS + 1)]
