"""One bar cut into shares: outcomes of a run, seconds of its stages."""

from collections.abc import Sequence
from dataclasses import dataclass

from markupsafe import Markup

from kernelwright.report.charts import svg


@dataclass(frozen=True)
class Share:
    """One part of a whole. `kind` is the class that colours it, here and in the legend."""

    name: str
    value: float
    kind: str
    told: str
    """The value in words."""


def shares(parts: Sequence[Share], width: int) -> Markup:
    """The bar, in the order given; the legend beside it carries the numbers."""
    total = sum(p.value for p in parts) or 1.0
    drawn, x = [], 0.0
    for part in parts:
        room = width * part.value / total
        title = svg.element("title", f"{part.name}: {part.told}")
        drawn.append(
            svg.element("rect", title, x=x, y=0, width=max(room - 1.5, 0.5), height=14, rx=2, class_=part.kind)
        )
        x += room
    described = ", ".join(f"{p.name}: {p.told}" for p in parts) or "nothing"
    return svg.frame(width, 14, described, drawn)
