"""The raw samples of one timing: every block of every side a point, medians marked, nothing smoothed."""

from statistics import median

from markupsafe import Markup

from kernelwright.records.measure import Side, Timing
from kernelwright.report import words
from kernelwright.report.charts import svg
from kernelwright.report.charts.scale import Scale, around

LEFT, RIGHT, ROW = 96, 22, 46


def samples(timing: Timing, width: int) -> Markup:
    """The strip: linear from zero, or logarithmic and said so where sides differ by more than eight times."""
    values = [v for side in timing.sides for v in side.samples_us]
    if not values:
        return svg.frame(width, 30, "No samples were kept.", [svg.text(LEFT, 20, "no samples were kept")])
    log = max(values) > 8 * min(values) > 0
    start, end = LEFT, width - RIGHT
    x = around(values, start, end) if log else Scale(0, max(values) * 1.05, start, end)
    height = ROW * len(timing.sides) + 42
    parts = _axis(x, height, log, width)
    for row, side in enumerate(timing.sides):
        parts += _side(side, x, 10 + ROW * row)
    return svg.frame(width, height, describe(timing), parts)


def describe(timing: Timing) -> str:
    """The strip in words."""
    told = [
        f"{words.SIDE[s.name]} median {words.microseconds(median(s.samples_us))}, "
        f"{words.microseconds(min(s.samples_us))} to {words.microseconds(max(s.samples_us))} "
        f"over {len(s.samples_us)} blocks"
        for s in timing.sides
        if s.samples_us
    ]
    return "Raw samples: " + "; ".join(told) + "."


def _axis(x: Scale, height: float, log: bool, width: int) -> list[Markup]:
    unit, divide = ("ms", 1e3) if x.high >= 2e3 else ("µs", 1.0)
    scaled = Scale(x.low / divide, x.high / divide, x.start, x.end, x.log)
    parts = []
    for tick in scaled.ticks(5 if width < svg.HALF else 7):
        at = scaled(tick)
        parts += [
            svg.rule(at, 6, at, height - 38),
            svg.text(at, height - 22, f"{tick:g}", anchor="middle"),
        ]
    label = f"{unit} for one call" + (", logarithmic" if log else "")
    return [*parts, svg.text((x.start + x.end) / 2, height - 5, label, "axis", "middle")]


def _side(side: Side, x: Scale, top: float) -> list[Markup]:
    middle = top + ROW / 2 - 6
    count = len(side.samples_us)
    parts = [svg.text(LEFT - 10, middle + 4, words.SIDE[side.name], "label", "end")]
    parts += [
        # The golden ratio spreads the blocks over the row without hiding their order behind chance.
        svg.dot(x(v), top + 4 + 26 * ((i * 0.618034) % 1), 2.2, f"sample s-{side.name}")
        for i, v in enumerate(side.samples_us)
    ]
    if count:
        at = x(median(side.samples_us))
        parts.append(svg.rule(at, top, at, top + 34, f"median m-{side.name}"))
    return parts
