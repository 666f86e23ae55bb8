"""The page of an audit: claimed beside measured, refusals by reason, and the evidence for each kernel a click away.

The chart has one row a kernel on one logarithmic scale: what was claimed beside what was measured.
"""

from collections.abc import Sequence
from typing import NamedTuple

from markupsafe import Markup

from kernelwright.records.answer import figure, times
from kernelwright.records.evaluation import Incorrect, Measured, Verified
from kernelwright.records.measure import Accuracy
from kernelwright.records.published import AuditedKernel, KernelAudit
from kernelwright.report import words
from kernelwright.report.charts import svg
from kernelwright.report.charts.svg import NARROW, WIDE, Scale, around
from kernelwright.report.html import page

WEIGHTS = {
    "fresh": "other parameters in every call",
    "constant": "one set of parameters, given before the first call",
    "construction": "the parameters under which both models were built, because it could not be given others",
}


class Row(NamedTuple):
    """One kernel of the page."""

    number: int
    kernel: AuditedKernel
    outcome: str
    """The badge: an outcome's name, or `refused` where there is no verdict on the kernel itself."""

    @property
    def measured(self) -> Measured | None:
        """The measurement, if there is one."""
        found = self.kernel.evaluation
        return found if isinstance(found, Measured) else None

    @property
    def accuracy(self) -> Accuracy | None:
        """The cases that were judged, if any."""
        found = self.kernel.evaluation
        kept = found.accuracy if isinstance(found, Verified | Measured | Incorrect) else None
        return kept if kept and kept.cases else None

    @property
    def parameters(self) -> str:
        """How its model came to the reference's parameters, in one line; empty of what has none."""
        text = self.kernel.evaluation.binding if self.kernel.evaluation else None
        if text is None:
            return ""
        if text.by_method:
            return "by its own load_reference"
        parts = [f"{text.by_name} by name"] if text.by_name else []
        parts += [f"by value: {', '.join(text.by_value)}"] if text.by_value else []
        parts += [f"by place: {', '.join(text.by_order)}"] if text.by_order else []
        parts += [f"not held: {', '.join(text.left)}"] if text.left else []
        parts += [f"constants of its own: {', '.join(text.constant)}"] if text.constant else []
        return "; ".join(parts)


def render_audit(audit: KernelAudit) -> str:
    """The whole page."""
    rows = rows_of(audit.kernels)
    return page(
        "audit.html.j2",
        audit=audit,
        rows=rows,
        drawn=drawn(audit.kernels),
        chart={width: claims(audit.kernels, width) for width in (WIDE, NARROW)},
        weights=WEIGHTS,
    )


def rows_of(kernels: Sequence[AuditedKernel]) -> list[Row]:
    """Every kernel, in the order of publication."""
    return [Row(n, k, k.evaluation.outcome if k.evaluation else "refused") for n, k in enumerate(kernels, 1)]


CHART_ROW, TOP, BOTTOM, RIGHT = 18, 12, 26, 16
MOST_ROWS = 400


def claims(kernels: Sequence[AuditedKernel], width: int) -> Markup:
    """Claims as rings, measured medians as bars with their intervals; the largest claim first."""
    rows = drawn(kernels)
    left = 220 if width > 600 else 96
    edges = [edge for row in rows for edge in _edges(row)]
    x = around([0.8, 1.25, *edges], left, width - RIGHT)
    height = TOP + CHART_ROW * len(rows) + BOTTOM
    parts = [svg.rule(x(1), TOP - 4, x(1), height - BOTTOM + 4, "one")]
    parts += [svg.text(x(tick), height - 8, f"{tick:g}×", "tick", "middle") for tick in x.ticks(6)]
    for number, row in enumerate(rows):
        parts += _chart_row(row, x, TOP + CHART_ROW * number + CHART_ROW / 2, left)
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
    ratio = [versus.speedup.low, versus.speedup.high] if versus and not versus.speedup.wild else []
    return [*ratio, *([row.published.claimed] if row.published.claimed else [])]


def _chart_row(row: AuditedKernel, x: Scale, y: float, left: int) -> list[Markup]:
    versus = row.against("eager")
    assert versus is not None, "only measured kernels are drawn"
    ratio, claimed = versus.speedup, row.published.claimed
    sentence = f"{row.published.name}: measured {figure(ratio)}"
    characters = 32 if left > 100 else 13
    parts = [
        svg.text(left - 8, y + 4, words.line(row.published.name, characters), "tick", "end"),
        svg.bar(x(ratio.low), y - 4, max(x(ratio.high) - x(ratio.low), 3), 8, "interval"),
        svg.rule(x(ratio.median), y - 6, x(ratio.median), y + 6, "median"),
    ]
    if claimed:
        sentence += f", claimed {times(claimed)}"
        parts.append(svg.rule(x(claimed), y, x(ratio.median), y, "grid"))
        parts.append(svg.dot(x(claimed), y, 4, "ref", sentence))
    return [svg.element("g", *parts, class_=f"v-{versus.verdict}")]
