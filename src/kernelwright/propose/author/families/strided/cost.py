"""What a kernel over any axes costs: bytes at the bandwidth that its accesses leave, and waves of programs."""

from math import prod

from kernelwright.propose.author.families.strided.plan import Strided, stride
from kernelwright.propose.author.families.strided.schedule import StridedSchedule
from kernelwright.records.tensor import ITEM_BYTES

BYTES_US = 4.0e6
"""Bytes that memory gives in a microsecond."""
SECTOR = 32
"""Bytes that memory hands out at least."""
LAUNCH_US = 2.5
PROGRAMS = 132 * 8
"""Programs that run at once."""


def strided_cost(plan: Strided, schedule: StridedSchedule) -> float:
    """Estimated microseconds on a large device."""
    part = plan.part
    moved = sum(float(prod(t.shape)) * ITEM_BYTES[t.dtype] for t in part.writes)
    fast = plan.columns[-1] if plan.columns and schedule.passes != "steps" else plan.rows[-1] if plan.rows else -1
    for element in part.elements:
        tensor = part.argument(element)
        item = ITEM_BYTES[tensor.dtype]
        apart = stride(element, fast, part.sizes) if fast in element.axes else 1
        waste = SECTOR / item if apart is None or abs(apart) * item >= SECTOR else max(1, abs(apart))
        again = 2 if schedule.passes == "blocks" and plan.wide else 1
        moved += prod(element.sizes) * item * waste * again
    programs = -(-plan.row_count // schedule.rows)
    waves = max(1.0, -(-programs // PROGRAMS) * PROGRAMS / programs)
    return LAUNCH_US + moved / BYTES_US * min(waves, 8.0)
