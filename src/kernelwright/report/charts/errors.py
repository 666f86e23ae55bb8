"""Error against fp64, case by case, as a share of what is allowed: one axis on which the limit is a line."""

import math
from collections.abc import Sequence

from markupsafe import Markup

from kernelwright.records.measure import Accuracy, CaseError
from kernelwright.report import words
from kernelwright.report.charts import svg
from kernelwright.report.charts.scale import Scale

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
        f"{words.line(worst.regime)}, error {words.error(worst.error)} of {words.error(worst.allowed)} "
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
    told = f"{case.regime}: error {words.error(case.error)}, allowed {words.error(case.allowed)}"
    kind = "err" if found <= 1 else "err over"
    return [
        svg.text(x.start - 12, middle + 4, words.line(case.regime, room), "label", "end"),
        svg.rule(x.start, middle, x.end, middle, "lane"),
        svg.dot(x(share(case, case.reference_error)), middle, 4.5, "ref"),
        svg.dot(x(found), middle, 4.5, kind, words.line(told)),
    ]
