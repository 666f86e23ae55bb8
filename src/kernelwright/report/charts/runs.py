"""Speedups of several runs over one baseline: a row for each, with its interval, on a shared logarithmic scale."""

from collections.abc import Sequence
from dataclasses import dataclass

from markupsafe import Markup

from kernelwright.records.measure import Versus
from kernelwright.report import words
from kernelwright.report.charts import svg
from kernelwright.report.charts.svg import Scale, around

ROW, TOP, BOTTOM, RIGHT = 26, 8, 40, 60
"""RIGHT: room for the figure beside the interval."""
LABEL = 0.34
"""Share of the width that a name takes."""
LETTER = 7.2
"""Pixels of a letter, about."""


@dataclass(frozen=True)
class Bar:
    """One run against one baseline; `found` is None where it was not measured anew."""

    name: str
    found: Versus | None


def speedups(bars: Sequence[Bar], width: int) -> Markup:
    """The chart; a run without a figure keeps its row and says so."""
    left = round(width * LABEL)
    edges = [edge for bar in bars if bar.found for edge in (bar.found.speedup.low, bar.found.speedup.high)]
    x = around([0.8, 1.25, *edges], left, width - RIGHT)
    bottom = TOP + ROW * len(bars)
    parts = [*_grid(x, bottom)]
    for row, bar in enumerate(bars):
        parts += _row(bar, x, TOP + ROW * row)
    return svg.frame(width, bottom + BOTTOM, describe(bars), parts)


def describe(bars: Sequence[Bar]) -> str:
    """The chart in words."""
    return "; ".join(f"{bar.name}: {_figures(bar.found)}" for bar in bars) or "No runs."


def _figures(found: Versus | None) -> str:
    if found is None:
        return "no final figure"
    ratio = found.speedup
    return f"{words.times(ratio.median)} ({words.times(ratio.low)} to {words.times(ratio.high)}), {found.verdict}"


def _grid(x: Scale, bottom: float) -> list[Markup]:
    parts = []
    for tick in sorted({1.0, *x.ticks(6)}):
        parts.append(svg.rule(x(tick), TOP, x(tick), bottom, "one" if tick == 1 else "grid"))
        if tick == 1 or abs(x(tick) - x(1)) >= 26:
            parts.append(svg.text(x(tick), bottom + 17, f"{tick:g}×", "one" if tick == 1 else "tick", "middle"))
    return parts


def _row(bar: Bar, x: Scale, top: float) -> list[Markup]:
    middle = top + ROW / 2
    name = words.line(bar.name, int(x.start / LETTER))
    parts = [svg.text(x.start - 12, middle + 4, name, "label", "end")]
    if bar.found is None:
        return [*parts, svg.text(x.start + 6, middle + 4, "no final figure")]
    ratio = bar.found.speedup
    low, high = x(ratio.low), x(ratio.high)
    drawn = [
        svg.bar(low, middle - 5, max(high - low, 3), 10, "interval"),
        svg.rule(x(ratio.median), middle - 9, x(ratio.median), middle + 9, "median"),
    ]
    parts.append(svg.element("g", *drawn, class_=f"v-{bar.found.verdict}"))
    return [*parts, svg.text(max(high, x(ratio.median)) + 8, middle + 4, words.times(ratio.median), "label")]
