"""Charts of one evaluation.

Errors against fp64, the kernel between its two limits, the ruler of a speedup, and the raw samples.
"""

import math
from collections.abc import Sequence
from statistics import median

from markupsafe import Markup

from kernelwright.records.answer import of_reachable, sentence
from kernelwright.records.measure import Accuracy, CaseError, Ratio, Roofline, Side, Timing, Versus
from kernelwright.report import words
from kernelwright.report.charts import svg
from kernelwright.report.charts.svg import Scale, around

SIDE, HEIGHT = 4, 138


def roofline(found: Roofline, latency_us: float, width: int) -> Markup:
    """Two bars. A small kernel that lives in cache may pass the ceiling of main memory; the bar says so."""
    full = max(found.ceiling_gbps, found.achieved_gbps) * 1.02
    speed = Scale(0, full, SIDE, width - SIDE)
    time = Scale(0, max(latency_us, found.floor_us, found.ceiling_us) * 1.02, SIDE, width - SIDE)
    parts = [
        svg.text(SIDE, 14, f"{found.achieved_gbps:,.1f} GB/s reached", "label"),
        svg.text(width - SIDE, 14, f"ceiling {found.ceiling_gbps:,.1f}", "tick", "end"),
        *_bar(speed, 22, found.achieved_gbps, found.ceiling_gbps),
        svg.text(SIDE, 84, f"{words.microseconds(latency_us)} a call", "label"),
        svg.text(
            width - SIDE, 84, f"at the ceiling {_us(found.ceiling_us)}, floor {_us(found.floor_us)}", "tick", "end"
        ),
        *_bar(time, 92, latency_us, found.floor_us),
        svg.rule(time(found.ceiling_us), 88, time(found.ceiling_us), 118, "mark"),
    ]
    return svg.frame(width, HEIGHT, describe_roofline(found, latency_us), parts)


_us = words.microseconds


def describe_roofline(found: Roofline, latency_us: float) -> str:
    """The chart in words."""
    return (
        f"{found.achieved_gbps:.1f} GB/s reached of {found.ceiling_gbps:.1f} GB/s, {of_reachable(found.fraction)} what this "
        f"device was measured to reach. One call takes {_us(latency_us)}, and at the ceiling would take "
        f"{_us(found.ceiling_us)}; below the floor of {_us(found.floor_us)} no time is believed."
    )


def _bar(x: Scale, y: float, value: float, mark: float) -> list[Markup]:
    return [
        svg.bar(x.start, y, x.end - x.start, 22, "track"),
        svg.bar(x.start, y, x(value) - x.start, 22, "fill"),
        svg.rule(x(mark), y - 4, x(mark), y + 26, "mark"),
    ]


RULER_SIDE, RULER_HEIGHT, BASE = 14, 54, 30


def ruler(versus: Versus, beside: Sequence[Versus], width: int) -> Markup:
    """One ruler; `beside` are all comparisons of the page, which share the scale."""
    edges = [v for other in beside if not other.speedup.wild for v in (other.speedup.low, other.speedup.high)]
    x = around([0.8, 1.25, *edges], RULER_SIDE, width - RULER_SIDE)
    parts = [svg.rule(RULER_SIDE, BASE, width - RULER_SIDE, BASE, "edge"), *_marks(x), *_interval(x, versus.speedup)]
    kind = f"v-{versus.verdict}"
    return svg.frame(width, RULER_HEIGHT, describe_ruler(versus), [svg.element("g", *parts, class_=kind)])


def describe_ruler(versus: Versus) -> str:
    """The ruler in words."""
    return sentence(versus)


def _marks(x: Scale) -> list[Markup]:
    ticks = sorted({1.0, *x.ticks(6)})
    parts = []
    for tick in ticks:
        close = tick != 1 and abs(x(tick) - x(1)) < 26
        parts.append(svg.rule(x(tick), BASE, x(tick), BASE + (9 if tick == 1 else 5), "edge"))
        if not close:
            parts.append(svg.text(x(tick), RULER_HEIGHT - 4, f"{tick:g}×", "one" if tick == 1 else "tick", "middle"))
    return parts


def _interval(x: Scale, ratio: Ratio) -> list[Markup]:
    low, high = x(ratio.low), x(ratio.high)
    return [
        svg.rule(x(1), BASE - 22, x(1), BASE, "one"),
        svg.bar(low, BASE - 17, max(high - low, 3), 10, "interval"),
        svg.rule(x(ratio.median), BASE - 21, x(ratio.median), BASE - 3, "median"),
    ]


LEFT, SAMPLES_RIGHT, SAMPLES_ROW = 96, 22, 46


def samples(timing: Timing, width: int) -> Markup:
    """The strip: linear from zero, or logarithmic and said so where sides differ by more than eight times."""
    values = [v for side in timing.arms for v in side.samples_us]
    if not values:
        return svg.frame(width, 30, "No samples were kept.", [svg.text(LEFT, 20, "no samples were kept")])
    log = max(values) > 8 * min(values) > 0
    start, end = LEFT, width - SAMPLES_RIGHT
    x = around(values, start, end) if log else Scale(0, max(values) * 1.05, start, end)
    height = SAMPLES_ROW * len(timing.arms) + 42
    parts = _samples_axis(x, height, log, width)
    for row, side in enumerate(timing.arms):
        parts += _side(side, x, 10 + SAMPLES_ROW * row)
    return svg.frame(width, height, describe_samples(timing), parts)


def describe_samples(timing: Timing) -> str:
    """The strip in words."""
    text = [
        f"{words.SIDE[s.name]} median {words.microseconds(median(s.samples_us))}, "
        f"{words.microseconds(min(s.samples_us))} to {words.microseconds(max(s.samples_us))} "
        f"over {len(s.samples_us)} blocks"
        for s in timing.arms
        if s.samples_us
    ]
    return "Raw samples: " + "; ".join(text) + "."


def _samples_axis(x: Scale, height: float, log: bool, width: int) -> list[Markup]:
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
    middle = top + SAMPLES_ROW / 2 - 6
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


RIGHT, ROW = 24, 24
LOWEST = 1e-4
"""Shares below it, zero among them, are drawn at the left edge."""
HIGHEST = 1e6
"""Shares above it, and what is no number, are drawn at the right edge."""


def errors(accuracy: Accuracy, width: int) -> Markup:
    """The chart: filled is the kernel, hollow is the reference at the task's own precision."""
    left = 190 if width >= svg.HALF else 126
    shares = [share(c, v) for c in accuracy.cases for v in (c.error, c.reference_error)]
    worst = max((s for s in shares if s < HIGHEST), default=1.0)
    x = Scale(LOWEST, max(3.0, worst * 1.5), left, width - RIGHT, log=True)
    height = ROW * len(accuracy.cases) + 46
    parts = _axis(x, height, width)
    for row, case in enumerate(accuracy.cases):
        parts += _case(case, x, 8 + ROW * row, 27 if width >= svg.HALF else 16)
    return svg.frame(width, height, describe(accuracy.cases), parts)


def describe(cases: Sequence[CaseError]) -> str:
    """The chart in words."""
    passed = sum(share(c, c.error) <= 1 for c in cases)
    worst = max(cases, key=lambda c: share(c, c.error), default=None)
    if worst is None:
        return "No case was judged."
    return (
        f"{passed} of {len(cases)} cases within what is allowed. Closest to its limit: "
        f"{words.line(worst.named)}, error {words.error(worst.error)} of {words.error(worst.allowed)} "
        f"allowed; the reference itself shows {words.error(worst.reference_error)}."
    )


def share(case: CaseError, error: float) -> float:
    """`error` as a share of what the case allows; infinite for any error where none is allowed."""
    if case.allowed > 0:
        return error / case.allowed
    return 0.0 if error == 0 else math.inf


def _axis(x: Scale, height: float, width: int) -> list[Markup]:
    parts = []
    for tick in (LOWEST, 1e-3, 1e-2, 1e-1, 1.0) if width >= svg.HALF else (LOWEST, 1e-2, 1.0):
        at = x(tick)
        parts += [
            svg.rule(at, 4, at, height - 38, "limit" if tick == 1 else "grid"),
            svg.text(at, height - 22, _name(tick), anchor="middle"),
        ]
    label = "error as a share of what is allowed" if width >= svg.HALF else "share of what is allowed"
    return [*parts, svg.text((x.start + x.end) / 2, height - 5, label, "axis", "middle")]


def _name(tick: float) -> str:
    if tick == 1:
        return "limit"
    return f"≤ {tick:g}" if tick == LOWEST else f"{tick:g}"


def _case(case: CaseError, x: Scale, y: float, room: int) -> list[Markup]:
    middle = y + ROW / 2 - 2
    found = share(case, case.error)
    sentence = f"{case.named}: error {words.error(case.error)}, allowed {words.error(case.allowed)}"
    kind = "err" if found <= 1 else "err over"
    return [
        svg.text(x.start - 12, middle + 4, words.line(case.named, room), "label", "end"),
        svg.rule(x.start, middle, x.end, middle, "lane"),
        svg.dot(x(share(case, case.reference_error)), middle, 4.5, "ref"),
        svg.dot(x(found), middle, 4.5, kind, words.line(sentence)),
    ]
