"""The comparison's page: one file without scripts, like the report of a run, and as careful with what it shows.

Every name, reason and note on it is hostile text.
"""

import base64
import hashlib
import math
from collections.abc import Sequence
from functools import cache
from importlib.resources import files
from statistics import geometric_mean
from typing import NamedTuple

from markupsafe import Markup

from kernelwright.bench import words
from kernelwright.bench.charts import Bar, Line, curve_chart, mean_chart
from kernelwright.bench.metrics import P
from kernelwright.bench.plan import Arm, Plan, dotted
from kernelwright.bench.records import ArmFigures, CellResult, Comparison, Curve, Naive
from kernelwright.bench.summary import best_arm, compared
from kernelwright.report.charts.svg import NARROW, WIDE
from kernelwright.report.html import style, templates
from kernelwright.report.words import times
from kernelwright.version import __version__

COLOURS = 6
HEAT = ((0.97, "h-slow"), (1.03, "h-even"), (1.5, "h-1"), (3.0, "h-2"), (math.inf, "h-3"))
"""Speedup over eager below which a cell of the matrix has that colour."""


class Square(NamedTuple):
    """One cell of the matrix: a task and an arm, all seeds."""

    kind: str
    told: str
    note: str
    """How many of the seeds are solved, or why none is."""


class TaskRow(NamedTuple):
    """A task's row of the matrix."""

    task: str
    naive: Square | None
    squares: tuple[Square, ...]


class Drawing(NamedTuple):
    """A chart in both widths."""

    axis: str
    wide: Markup
    narrow: Markup


def render(comparison: Comparison) -> str:
    """The whole page."""
    rules = style() + _own_style()
    best = best_arm(comparison)
    arms = comparison.plan.arms
    return (
        templates()
        .get_template("bench.html.j2")
        .render(
            c=comparison,
            best=best,
            best_mean=words.speedup(compared(best), "eager", "all") if best else None,
            best_name=words.arm_name(best.arm, arms) if best else "",
            names=[words.arm_name(row.arm, arms) for row in comparison.arms],
            kinds=[kind(number) for number in range(len(arms))],
            ps=P,
            ks=_ks(comparison),
            has_naive=bool(comparison.naive),
            has_asked=any(cell.asked is not None for cell in comparison.cells),
            differ=any(row.shared.cells < row.figures.cells for row in comparison.arms),
            cells_of=[[c for c in comparison.cells if c.cell.arm == arm] for arm in arms],
            means=_means(comparison),
            curves=_curves(comparison),
            matrix=[_row(comparison, task.name) for task in comparison.plan.tasks],
            failed=[cell for cell in comparison.cells if cell.status != "done"],
            settings=_settings(comparison.plan),
            w=words,
            style=Markup(rules),
            style_hash=base64.b64encode(hashlib.sha256(rules.encode()).digest()).decode(),
            version=__version__,
        )
    )


def kind(number: int) -> str:
    """The classes of an arm's colour, and of its dashes once the colours are used up."""
    return f"k-{number % COLOURS} d-{min(number // COLOURS, 3)}"


@cache
def _own_style() -> str:
    return (files("kernelwright.report") / "templates" / "bench.css").read_text("utf-8")


def _ks(comparison: Comparison) -> list[int]:
    return sorted({at.k for row in comparison.arms for at in (*row.figures.solved_at, *row.figures.pass_at)})


def _means(comparison: Comparison) -> Drawing | None:
    bars = [
        Bar(words.arm_name(row.arm, comparison.plan.arms), kind(n), words.speedup(row.figures, "eager", "all"))
        for n, row in enumerate(comparison.arms)
    ]
    if not any(row.curves for row in comparison.arms):
        return None
    return Drawing("", mean_chart(bars, WIDE), mean_chart(bars, NARROW))


def _curves(comparison: Comparison) -> list[Drawing]:
    drawn = []
    for axis in dict.fromkeys(curve.axis for row in comparison.arms for curve in row.curves):
        lines = [
            Line(words.arm_name(row.arm, comparison.plan.arms), kind(n), curve)
            for n, row in enumerate(comparison.arms)
            if (curve := _of_axis(row, axis)) is not None
        ]
        drawn.append(Drawing(axis, curve_chart(lines, axis, WIDE), curve_chart(lines, axis, NARROW)))
    return drawn


def _of_axis(row: ArmFigures, axis: str) -> Curve | None:
    return next((curve for curve in row.curves if curve.axis == axis), None)


def _row(comparison: Comparison, task: str) -> TaskRow:
    naive = next((one for one in comparison.naive if one.task == task), None)
    squares = tuple(_square(_cells(comparison, task, arm)) for arm in comparison.plan.arms)
    return TaskRow(task, _naive(naive) if naive else None, squares)


def _cells(comparison: Comparison, task: str, arm: Arm) -> list[CellResult]:
    return [cell for cell in comparison.cells if cell.cell.task == task and cell.cell.arm == arm]


def _square(cells: Sequence[CellResult]) -> Square:
    ended = [cell for cell in cells if cell.settled]
    if not ended:
        return Square("h-none", words.STATUS[cells[0].status], "")
    right = [cell for cell in ended if cell.correct]
    note = f"{len(right)} of {len(ended)}" if len(cells) > 1 else ""
    if not right:
        only = {cell.status for cell in ended}
        told = words.STATUS[only.pop()] if len(only) == 1 and "done" not in only else "not solved"
        return Square("h-fail", told, note)
    found = [cell.eager.median for cell in right if cell.eager]
    if not found:
        return Square("h-even", "right, not timed", note)
    mean = geometric_mean(found)
    return Square(_heat(mean), times(mean), note)


def _naive(found: Naive) -> Square:
    if found.eager is None:
        return Square("h-fail" if found.outcome != "verified" else "h-even", found.outcome.replace("_", " "), "")
    return Square(_heat(found.eager.median), times(found.eager.median), "")


def _heat(speedup: float) -> str:
    return next(name for limit, name in HEAT if speedup < limit)


def _settings(plan: Plan) -> list[tuple[str, str]]:
    """What was set, as dotted keys; the strategies' dials are in each run's own report."""
    shown = {key: value for key, value in plan.config.items() if key not in ("strategy", "policy")}
    crews = dotted("", {label: plan.model_dump(mode="json")["models"][label] for label in plan.models})
    return [(key, value) for key, value in (dotted("", shown) | crews).items() if value != "None"]
