"""The page of an audit: claimed beside measured, refusals by reason, and the evidence for each kernel a click away."""

from collections.abc import Sequence
from typing import NamedTuple

from kernelwright.records.evaluation import Incorrect, Measured, Verified
from kernelwright.records.measure import Accuracy
from kernelwright.records.published import AuditedKernel, KernelAudit
from kernelwright.report.charts.claims import claims, drawn
from kernelwright.report.charts.svg import NARROW, WIDE
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
        told = self.kernel.evaluation.binding if self.kernel.evaluation else None
        if told is None:
            return ""
        if told.by_method:
            return "by its own load_reference"
        parts = [f"{told.by_name} by name"] if told.by_name else []
        parts += [f"by value: {', '.join(told.by_value)}"] if told.by_value else []
        parts += [f"by place: {', '.join(told.by_order)}"] if told.by_order else []
        parts += [f"not held: {', '.join(told.left)}"] if told.left else []
        parts += [f"constants of its own: {', '.join(told.constant)}"] if told.constant else []
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
