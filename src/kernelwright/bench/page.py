"""The comparison's page: one file without scripts, like the report of a run, and as careful with what it shows.

Every name, reason and note on it is hostile text.
"""

import math
from collections.abc import Sequence
from functools import cache
from importlib.resources import files
from statistics import geometric_mean
from typing import NamedTuple

from markupsafe import Markup

from kernelwright.bench import words
from kernelwright.bench.metrics import P
from kernelwright.bench.records import Arm, ArmFigures, BenchPlan, CellResult, Comparison, Curve, Mean, Naive, dotted
from kernelwright.bench.summary import best_arm, compared
from kernelwright.bench.words import mean_interval
from kernelwright.records.answer import times
from kernelwright.report.charts import svg
from kernelwright.report.charts.svg import NARROW, WIDE, Scale, around
from kernelwright.report.html import alone, page
from kernelwright.report.words import line

LEFT, RIGHT, TOP, BOTTOM = 54, 16, 12, 40
PLOT = 250
ROW, LABEL = 30, 0.28
"""Height of an arm's row; share of the width that its name takes."""
NARROW_LABEL = 15
"""Characters of a name on a narrow drawing."""


class Line(NamedTuple):
    """One arm's curve."""

    name: str
    kind: str
    """Class of its colour and dashes."""
    curve: Curve


class Bar(NamedTuple):
    """One arm's mean."""

    name: str
    kind: str
    found: Mean | None


def curve_chart(lines: Sequence[Line], axis: str, width: int) -> Markup:
    """Every arm's curve over one axis."""
    bottom = TOP + PLOT
    last = max((line.curve.points[-1].spent for line in lines), default=1.0) or 1.0
    x = Scale(0.0, last, LEFT, width - RIGHT)
    y = around([1.0, *(p.speedup for line in lines for p in line.curve.points)], bottom, TOP)
    parts = [_level(y(tick), width, tick) for tick in y.ticks(6)]
    parts.append(svg.rule(LEFT, y(1.0), width - RIGHT, y(1.0), "one"))
    ticks = [t for t in x.ticks(6 if width > svg.NARROW else 4) if t == int(t) or axis != "proposals"]
    parts += [svg.text(x(t), bottom + 17, f"{t:,g}", anchor="middle") for t in ticks]
    parts.append(svg.text((LEFT + width - RIGHT) / 2, bottom + 35, axis, "axis", "middle"))
    parts += [_stairs(line, x, y) for line in lines]
    return svg.frame(width, bottom + BOTTOM, _describe(lines, axis), parts)


def mean_chart(bars: Sequence[Bar], width: int) -> Markup:
    """Every arm's mean speedup over eager with its interval, a row each."""
    left = round(width * LABEL)
    bottom = TOP + ROW * len(bars)
    values = [v for bar in bars if bar.found for v in (bar.found.low, bar.found.value, bar.found.high) if v is not None]
    x = around([1.0, *values], left, width - RIGHT)
    parts: list[Markup] = []
    for tick in x.ticks(6 if width > svg.NARROW else 4):
        parts.append(svg.rule(x(tick), TOP, x(tick), bottom))
        parts.append(svg.text(x(tick), bottom + 18, times(tick), anchor="middle"))
    parts.append(svg.rule(x(1.0), TOP, x(1.0), bottom, "one"))
    for row, bar in enumerate(bars):
        parts += _bar(bar, x, TOP + ROW * (row + 0.5), left)
    words = "; ".join(f"{bar.name}: {times(bar.found.value) if bar.found else 'none'}" for bar in bars)
    return svg.frame(width, bottom + 28, f"Geometric mean speedup over eager. {words}.", parts)


def _bar(bar: Bar, x: Scale, y: float, left: int) -> list[Markup]:
    name = line(bar.name, 60 if left > svg.NARROW * LABEL * 1.5 else NARROW_LABEL)
    label = svg.text(left - 10, y + 4, name, "label", "end")
    if bar.found is None:
        return [label, svg.text(left + 6, y + 4, "nothing was timed")]
    title = f"{bar.name}: {times(bar.found.value)}, {mean_interval(bar.found)}"
    dot = svg.dot(x(bar.found.value), y, 5, f"pt {bar.kind}", title)
    if bar.found.low is None or bar.found.high is None:
        return [label, dot]
    low, high = x(bar.found.low), x(bar.found.high)
    return [label, svg.bar(low, y - 5, max(high - low, 2.0), 10, f"spread {bar.kind}"), dot]


def _level(y: float, width: int, tick: float) -> Markup:
    line = svg.rule(LEFT, y, width - RIGHT, y)
    return svg.element("g", line, svg.text(LEFT - 8, y + 4, times(tick), anchor="end"))


def _stairs(line: Line, x: Scale, y: Scale) -> Markup:
    points = line.curve.points
    path = f"M{x(points[0].spent):.1f} {y(points[0].speedup):.1f}"
    path += "".join(f"H{x(p.spent):.1f}V{y(p.speedup):.1f}" for p in points[1:])
    title = svg.element("title", f"{line.name}: {times(points[-1].speedup)} at the end")
    return svg.element("path", title, d=path, class_=f"curve {line.kind}")


def _describe(lines: Sequence[Line], axis: str) -> str:
    text = "; ".join(f"{line.name} {times(line.curve.points[-1].speedup)}" for line in lines)
    return f"Best speedup over eager against {axis}, at the end: {text}."


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
    best = best_arm(comparison)
    arms = comparison.plan.arms
    return page(
        "bench.html.j2",
        _own_style(),
        c=comparison,
        best=best,
        best_mean=words.speedup(compared(best), "eager", "all") if best else None,
        best_as_is={b: words.speedup(compared(best), b, "solved") for b in ("eager", "compile")} if best else {},
        best_name=words.arm_name(best.arm, arms) if best else "",
        names=[words.arm_name(row.arm, arms) for row in comparison.arms],
        kinds=[kind(number) for number in range(len(arms))],
        ps=P,
        ks=sorted({at.k for row in comparison.arms for at in (*row.figures.solved_at, *row.figures.pass_at)}),
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
    )


def figures(comparison: Comparison) -> dict[str, str]:
    """The page's charts as SVG files of their own, by name."""
    means = _means(comparison)
    charts = {"speedup": means.wide} if means else {}
    charts |= {f"curve-{drawing.axis.replace(' ', '-')}": drawing.wide for drawing in _curves(comparison)}
    return {f"{name}.svg": alone(chart) for name, chart in charts.items()}


def kind(number: int) -> str:
    """The classes of an arm's colour, and of its dashes once the colours are used up."""
    return f"k-{number % COLOURS} d-{min(number // COLOURS, 3)}"


@cache
def _own_style() -> str:
    return (files("kernelwright.report") / "templates" / "bench.css").read_text("utf-8")


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
        text = words.STATUS[only.pop()] if len(only) == 1 and "done" not in only else "not solved"
        return Square("h-fail", text, note)
    found = [cell.eager.median for cell in right if cell.eager and not cell.eager.blurred]
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


def _settings(plan: BenchPlan) -> list[tuple[str, str]]:
    """What was set, as dotted keys; the strategies' options are in each run's own report."""
    shown = {key: value for key, value in plan.config.items() if key not in ("strategy", "policy")}
    model_sets = dotted("", {label: plan.model_dump(mode="json")["models"][label] for label in plan.models})
    return [(key, value) for key, value in (dotted("", shown) | model_sets).items() if value != "None"]


def _of_axis(row: ArmFigures, axis: str) -> Curve | None:
    return next((curve for curve in row.curves if curve.axis == axis), None)
