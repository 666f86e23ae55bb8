"""The schedule of a histogram, and its space."""

from kernelwright.propose.author.families.histogram.plan import Counted
from kernelwright.propose.author.schedule.space import Option
from kernelwright.records.base import Record


class HistogramSchedule(Record):
    """Degrees of freedom; none changes the result."""

    tile: int = 1024
    """Elements that a program counts at once. A power of two."""
    programs: int = 528
    """How many share the elements: each adds its counts to all of them once."""
    warps: int = 4


def histogram_default(plan: Counted) -> HistogramSchedule:
    """As many programs as a large device holds, and no tile that is mostly empty."""
    return HistogramSchedule(tile=min(1024, max(128, 1 << (plan.count - 1).bit_length())))


def histogram_space(plan: Counted) -> list[Option]:
    """The options that mean something for this plan."""
    return [
        Option("tile", (256, 512, 1024, 2048, 4096), "latency"),
        Option("programs", (132, 264, 528, 1056, 2112), "memory"),
        Option("warps", (2, 4, 8), "latency"),
    ]
