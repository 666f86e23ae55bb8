"""What was claimed beside what was measured: one row a kernel, on one logarithmic scale."""

from collections.abc import Sequence

from markupsafe import Markup

from kernelwright.records.published import AuditedKernel
from kernelwright.report import words
from kernelwright.report.charts import svg
from kernelwright.report.charts.svg import Scale, around

ROW, TOP, BOTTOM, RIGHT = 18, 12, 26, 16
MOST_ROWS = 400


def claims(kernels: Sequence[AuditedKernel], width: int) -> Markup:
    """Claims as rings, measured medians as bars with their intervals; the largest claim first."""
    rows = drawn(kernels)
    left = 220 if width > 600 else 96
    edges = [edge for row in rows for edge in _edges(row)]
    x = around([0.8, 1.25, *edges], left, width - RIGHT)
    height = TOP + ROW * len(rows) + BOTTOM
    parts = [svg.rule(x(1), TOP - 4, x(1), height - BOTTOM + 4, "one")]
    parts += [svg.text(x(tick), height - 8, f"{tick:g}×", "tick", "middle") for tick in x.ticks(6)]
    for number, row in enumerate(rows):
        parts += _row(row, x, TOP + ROW * number + ROW / 2, left)
    return svg.frame(width, height, describe(rows), parts)


def drawn(kernels: Sequence[AuditedKernel]) -> list[AuditedKernel]:
    """The measured ones, the largest claim first."""
    measured = [kernel for kernel in kernels if kernel.against("eager")]
    return sorted(measured, key=lambda kernel: -(kernel.published.claimed or 0.0))[:MOST_ROWS]


def describe(rows: Sequence[AuditedKernel]) -> str:
    """The chart in words."""
    return f"Claimed and measured speedup over eager of {len(rows)} kernels; the list below has every figure."


def _edges(row: AuditedKernel) -> list[float]:
    versus = row.against("eager")
    ratio = [versus.speedup.low, versus.speedup.high] if versus else []
    return [*ratio, *([row.published.claimed] if row.published.claimed else [])]


def _row(row: AuditedKernel, x: Scale, y: float, left: int) -> list[Markup]:
    versus = row.against("eager")
    assert versus is not None, "only measured kernels are drawn"
    ratio, claimed = versus.speedup, row.published.claimed
    told = f"{row.published.name}: measured {words.times(ratio.median)}"
    characters = 32 if left > 100 else 13
    parts = [
        svg.text(left - 8, y + 4, words.line(row.published.name, characters), "tick", "end"),
        svg.bar(x(ratio.low), y - 4, max(x(ratio.high) - x(ratio.low), 3), 8, "interval"),
        svg.rule(x(ratio.median), y - 6, x(ratio.median), y + 6, "median"),
    ]
    if claimed:
        told += f", claimed {words.times(claimed)}"
        parts.append(svg.rule(x(claimed), y, x(ratio.median), y, "grid"))
        parts.append(svg.dot(x(claimed), y, 4, "ref", told))
    return [svg.element("g", *parts, class_=f"v-{versus.verdict}")]
