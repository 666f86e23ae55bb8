"""Where the kernel stands between two limits.

Its bandwidth against the ceiling measured in the same run, and its time against the physical floor.
"""

from markupsafe import Markup

from kernelwright.records.measure import Roofline
from kernelwright.report import words
from kernelwright.report.charts import svg
from kernelwright.report.charts.scale import Scale

SIDE, HEIGHT = 4, 138


def roofline(found: Roofline, latency_us: float, width: int) -> Markup:
    """Two bars. A small kernel that lives in cache may pass the ceiling of main memory; the bar says so."""
    full = max(found.ceiling_gbps, found.achieved_gbps) * 1.02
    speed = Scale(0, full, SIDE, width - SIDE)
    time = Scale(0, max(latency_us, found.floor_us) * 1.02, SIDE, width - SIDE)
    parts = [
        svg.text(SIDE, 14, f"{found.achieved_gbps:,.1f} GB/s reached", "label"),
        svg.text(width - SIDE, 14, f"ceiling {found.ceiling_gbps:,.1f}", "tick", "end"),
        *_bar(speed, 22, found.achieved_gbps, found.ceiling_gbps),
        svg.text(SIDE, 84, f"{words.microseconds(latency_us)} a call", "label"),
        svg.text(width - SIDE, 84, f"floor {words.microseconds(found.floor_us)}", "tick", "end"),
        *_bar(time, 92, latency_us, found.floor_us),
    ]
    return svg.frame(width, HEIGHT, describe(found, latency_us), parts)


def describe(found: Roofline, latency_us: float) -> str:
    """The chart in words."""
    return (
        f"{found.achieved_gbps:.1f} GB/s reached of {found.ceiling_gbps:.1f} GB/s measured on this device, "
        f"{words.percent(found.fraction)}. One call takes {words.microseconds(latency_us)}; "
        f"the physical floor is {words.microseconds(found.floor_us)}."
    )


def _bar(x: Scale, y: float, value: float, mark: float) -> list[Markup]:
    return [
        svg.bar(x.start, y, x.end - x.start, 22, "track"),
        svg.bar(x.start, y, x(value) - x.start, 22, "fill"),
        svg.rule(x(mark), y - 4, x(mark), y + 26, "mark"),
    ]
