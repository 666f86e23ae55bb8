"""Workloads of one kernel: a row each with its interval, the protected and the slowest first; and the same as CSV."""

import csv
import io
from collections.abc import Sequence

from markupsafe import Markup

from kernelwright.records.across import against, crossings, mean, ranked, slower_protected, worst
from kernelwright.records.answer import figure
from kernelwright.records.evaluation import Measured, WorkloadResult
from kernelwright.records.measure import Ratio
from kernelwright.report import words
from kernelwright.report.charts import svg
from kernelwright.report.charts.svg import Scale, around

ROW, TOP, FOOT, SIDE = 26, 12, 30, 14
LABEL = 0.4
"""Of the width."""
COLUMNS = (
    "workload", "axes", "weight", "protected", "drawn", "outcome", "latency_us", "baseline", "speedup",
    "low", "high", "verdict",
)  # fmt: skip


def workloads(rows: Sequence[WorkloadResult], width: int) -> Markup:
    """Speedups over eager, a row for each workload that counts."""
    found = against(ranked(rows), "eager")
    left = width * LABEL
    edges = [edge for _, v in found if not v.speedup.wild for edge in (v.speedup.low, v.speedup.high)]
    x = around([0.8, 1.25, *edges], left, width - SIDE)
    height = TOP + ROW * len(found) + FOOT
    parts = [svg.rule(x(1), TOP, x(1), height - FOOT, "one")]
    for number, (row, versus) in enumerate(found):
        y = TOP + ROW * number
        label = f"{words.line(row.point.words, 40)}{' (protected)' if row.point.protected else ''}"
        parts.append(svg.text(SIDE, y + 16, label, "label"))
        parts.append(svg.element("g", *_interval(x, versus.speedup, y), class_=f"v-{versus.verdict}"))
    ticks = [svg.text(x(tick), height - 10, f"{tick:g}×", "tick", "middle") for tick in sorted({1.0, *x.ticks(5)})]
    return svg.frame(width, height, describe_workloads(rows), [*parts, *ticks])


def _interval(x: Scale, ratio: Ratio, y: float) -> list[Markup]:
    low, middle, high = x(ratio.low), x(ratio.median), x(ratio.high)
    return [svg.bar(low, y + 7, max(high - low, 3), 10, "interval"), svg.rule(middle, y + 4, middle, y + 20, "median")]


def describe_workloads(rows: Sequence[WorkloadResult]) -> str:
    """The chart in words: the mean, the worst, protected ones that are slower, and where the speedup crosses one."""
    told = []
    if (whole := mean(rows, "eager")) is not None:
        told.append(f"By weight {figure(whole)} eager over {len(against(rows, 'eager'))} workloads")
    if (least := worst(rows, "eager")) is not None:
        told.append(f"the worst {figure(least[1].speedup)} at {least[0].point.words}")
    slower = [row.point.words for row, _ in slower_protected(rows, "eager")]
    told.append(f"slower on the protected {'; '.join(slower)}" if slower else "slower on no protected one")
    axis, found = crossings(rows, "eager")
    told += [f"it crosses 1× between {axis}={low} and {high}" for low, high in found]
    sizes = sum(row.drawn and row.evaluation is not None for row in rows)
    return ", ".join(told) + f". Right at {sizes} drawn sizes beside them."


def table(rows: Sequence[WorkloadResult]) -> str:
    """CSV: a line for each workload and baseline; of what was not timed one without figures."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(COLUMNS)
    for row in ranked(rows):
        head = [words.line(row.point.name), row.point.words, row.point.weight, row.point.protected, row.drawn]
        found = row.evaluation
        outcome = found.outcome if found is not None else "not judged"
        if not isinstance(found, Measured):
            writer.writerow([*head, outcome, *[""] * 6])
            continue
        for versus in found.timing.versus:
            ratio = versus.speedup
            figures = [versus.baseline, ratio.median, ratio.low, ratio.high, versus.verdict]
            writer.writerow([*head, outcome, found.timing.latency_us, *figures])
    return text.getvalue()
