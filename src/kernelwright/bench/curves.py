"""Curves: the best speedup so far against what was spent, averaged over tasks.

A cell's curve is a staircase: the larger of 1.0 (a person keeps eager until there is something better) and the search
figure of the attempt whose speedup is the surest so far. A cell that ended early keeps its last step. Curves are
geometric means over tasks, and within a task over seeds. Search figures: they show the way, not the result.
"""

import bisect
import math
from collections.abc import Callable, Sequence

from kernelwright.bench.records import CellResult, Curve, Point, Step

POINTS = 48
"""Most points of a curve over a continuous axis."""

Stairs = tuple[list[float], list[float]]
"""What had been spent at each step, and the logarithm of the best speedup from there."""


def curves(cells: Sequence[CellResult]) -> tuple[Curve, ...]:
    """One curve for each thing that can be spent; none where nothing was timed."""
    ended = [cell for cell in cells if cell.counts]
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
    where, heights, surest = [0.0], [0.0], 0.0
    for number, step in enumerate(cell.steps):
        if step.eager is not None and step.eager.low > surest:
            surest = step.eager.low
            where.append(spent(number, step))
            heights.append(max(0.0, math.log(step.eager.median)))
    return where, heights


def _mean(cells: Sequence[CellResult], spent: Callable[[int, Step], float], grid: Sequence[float]) -> tuple[Point, ...]:
    tasks: dict[str, list[Stairs]] = {}
    for cell in cells:
        tasks.setdefault(cell.cell.task, []).append(stairs(cell, spent))
    return tuple(Point(spent=x, speedup=math.exp(_average([_average([_at(s, x) for s in g]) for g in tasks.values()])))
                 for x in grid)  # fmt: skip


def _at(found: Stairs, x: float) -> float:
    return found[1][bisect.bisect_right(found[0], x) - 1]


def _average(values: Sequence[float]) -> float:
    return math.fsum(values) / len(values)


def _grid(last: float) -> list[float]:
    return [last * i / POINTS for i in range(POINTS + 1)]
