"""What a histogram costs: its bytes, and an instruction for each element of a warp and bit of its bin."""

from math import ceil, log2, prod

from kernelwright.propose.author.families.histogram.plan import Counted
from kernelwright.propose.author.families.histogram.schedule import HistogramSchedule

BYTES_US = 3.5e6
LAUNCH_US = 2.5
RESIDENT = 132 * 64
"""Warps that a large device holds."""
LANES = 32
STEPS_US = 2.0e4
"""Such instructions in a microsecond, of all warps that are there."""


def histogram_cost(plan: Counted, schedule: HistogramSchedule) -> float:
    """Estimated microseconds on a large device."""
    programs = min(schedule.programs, ceil(plan.count / schedule.tile))
    moved = 4.0 * sum(prod(e.sizes) for e in plan.part.elements) + 4.0 * programs * plan.bins
    steps = plan.count / LANES * (log2(max(2, plan.bins)) + plan.bins / LANES)
    busy = min(1.0, programs * schedule.warps / RESIDENT)
    return LAUNCH_US + max(moved / BYTES_US, steps / STEPS_US) / busy
