"""The comparison's drawings: best speedup against what was spent, and each arm's mean with its interval.

Made of the report's SVG parts; classes only, so that the page's one style sheet colours them.
"""

from collections.abc import Sequence
from typing import NamedTuple

from markupsafe import Markup

from kernelwright.bench.records import Curve, Mean
from kernelwright.bench.words import mean_interval
from kernelwright.report import words
from kernelwright.report.charts import svg
from kernelwright.report.charts.scale import Scale, around

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
        parts.append(svg.text(x(tick), bottom + 18, words.times(tick), anchor="middle"))
    parts.append(svg.rule(x(1.0), TOP, x(1.0), bottom, "one"))
    for row, bar in enumerate(bars):
        parts += _bar(bar, x, TOP + ROW * (row + 0.5), left)
    told = "; ".join(f"{bar.name}: {words.times(bar.found.value) if bar.found else 'none'}" for bar in bars)
    return svg.frame(width, bottom + 28, f"Geometric mean speedup over eager. {told}.", parts)


def _bar(bar: Bar, x: Scale, y: float, left: int) -> list[Markup]:
    name = words.line(bar.name, 60 if left > svg.NARROW * LABEL * 1.5 else NARROW_LABEL)
    label = svg.text(left - 10, y + 4, name, "label", "end")
    if bar.found is None:
        return [label, svg.text(left + 6, y + 4, "nothing was timed")]
    title = f"{bar.name}: {words.times(bar.found.value)}, {mean_interval(bar.found)}"
    dot = svg.dot(x(bar.found.value), y, 5, f"pt {bar.kind}", title)
    if bar.found.low is None or bar.found.high is None:
        return [label, dot]
    low, high = x(bar.found.low), x(bar.found.high)
    return [label, svg.bar(low, y - 5, max(high - low, 2.0), 10, f"spread {bar.kind}"), dot]


def _level(y: float, width: int, tick: float) -> Markup:
    line = svg.rule(LEFT, y, width - RIGHT, y)
    return svg.element("g", line, svg.text(LEFT - 8, y + 4, words.times(tick), anchor="end"))


def _stairs(line: Line, x: Scale, y: Scale) -> Markup:
    points = line.curve.points
    path = f"M{x(points[0].spent):.1f} {y(points[0].speedup):.1f}"
    path += "".join(f"H{x(p.spent):.1f}V{y(p.speedup):.1f}" for p in points[1:])
    title = svg.element("title", f"{line.name}: {words.times(points[-1].speedup)} at the end")
    return svg.element("path", title, d=path, class_=f"curve {line.kind}")


def _describe(lines: Sequence[Line], axis: str) -> str:
    told = "; ".join(f"{line.name} {words.times(line.curve.points[-1].speedup)}" for line in lines)
    return f"Best speedup over eager against {axis}, at the end: {told}."
