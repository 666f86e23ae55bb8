"""The ruler under each headline figure: the interval of a ratio on a scale on which 1× is the baseline."""

from collections.abc import Sequence

from markupsafe import Markup

from kernelwright.records.measure import Ratio, Versus
from kernelwright.report import words
from kernelwright.report.charts import svg
from kernelwright.report.charts.scale import Scale, around

SIDE, HEIGHT, BASE = 14, 54, 30


def ruler(versus: Versus, beside: Sequence[Versus], width: int) -> Markup:
    """One ruler; `beside` are all comparisons of the page, which share the scale."""
    edges = [v for other in beside for v in (other.speedup.low, other.speedup.high)]
    x = around([0.8, 1.25, *edges], SIDE, width - SIDE)
    parts = [svg.rule(SIDE, BASE, width - SIDE, BASE, "edge"), *_marks(x), *_interval(x, versus.speedup)]
    kind = f"v-{versus.verdict}"
    return svg.frame(width, HEIGHT, describe(versus), [svg.element("g", *parts, class_=kind)])


def describe(versus: Versus) -> str:
    """The ruler in words."""
    ratio = versus.speedup
    return (
        f"Speedup over {words.BASELINE[versus.baseline]}: median {words.times(ratio.median)}, interval "
        f"{words.times(ratio.low)} to {words.times(ratio.high)}; {versus.verdict}."
    )


def _marks(x: Scale) -> list[Markup]:
    ticks = sorted({1.0, *x.ticks(6)})
    parts = []
    for tick in ticks:
        close = tick != 1 and abs(x(tick) - x(1)) < 26
        parts.append(svg.rule(x(tick), BASE, x(tick), BASE + (9 if tick == 1 else 5), "edge"))
        if not close:
            parts.append(svg.text(x(tick), HEIGHT - 4, f"{tick:g}×", "one" if tick == 1 else "tick", "middle"))
    return parts


def _interval(x: Scale, ratio: Ratio) -> list[Markup]:
    low, high = x(ratio.low), x(ratio.high)
    return [
        svg.rule(x(1), BASE - 22, x(1), BASE, "one"),
        svg.bar(low, BASE - 17, max(high - low, 3), 10, "interval"),
        svg.rule(x(ratio.median), BASE - 21, x(ratio.median), BASE - 3, "median"),
    ]
