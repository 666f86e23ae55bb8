"""What a kernel over any axes costs: bytes at the bandwidth that its accesses leave, and waves of programs."""

from math import prod

from kernelwright.propose.author.families.strided.plan import Strided, stride
from kernelwright.propose.author.families.strided.schedule import LANES, StridedSchedule
from kernelwright.records.tensor import ITEM_BYTES

BYTES_US = 4.0e6
"""Bytes that memory gives in a microsecond."""
SECTOR = 32
"""Bytes that memory hands out at least."""
LAUNCH_US, TURN_US = 2.5, 0.3
"""Of a launch, and of one program after another in the same place."""
MULTIPROCESSORS, THREADS, BLOCKS = 132, 2048, 32
"""Of a large device; of one multiprocessor."""
UNDER_WAY = 32768
"""Bytes of loads that a multiprocessor needs under way to hide how long memory takes."""
UNROLLED = 4
"""Steps of a loop whose loads a compiler issues together."""
CROWDED = 64
"""Elements of a tile in one thread from which on registers spill."""


def strided_cost(plan: Strided, schedule: StridedSchedule) -> float:
    """Estimated microseconds on a large device."""
    threads = LANES * schedule.warps
    tile = schedule.rows * _columns_of_tile(plan, schedule)
    resident = min(BLOCKS, THREADS // threads)
    busy = min(1.0, resident * tile * 4 / UNDER_WAY)
    spilt = 1.0 if tile <= CROWDED * threads else 2.0
    programs = -(-plan.row_count // schedule.rows)
    if plan.columns and not plan.reduced:
        programs *= -(-plan.column_count // schedule.block)
    filled = min(1.0, programs / MULTIPROCESSORS)
    turns = -(-programs // (MULTIPROCESSORS * resident))
    return LAUNCH_US + _moved(plan, schedule) / BYTES_US / busy / filled * spilt + turns * TURN_US


def _columns_of_tile(plan: Strided, schedule: StridedSchedule) -> int:
    if not plan.columns:
        return 1
    return min(UNROLLED, plan.column_count) if plan.reduced and schedule.passes == "steps" else schedule.block


def _moved(plan: Strided, schedule: StridedSchedule) -> float:
    """Bytes that memory hands out."""
    part = plan.part
    moved = sum(float(prod(t.shape)) * ITEM_BYTES[t.dtype] for t in part.writes)
    fast = plan.columns[-1] if plan.columns and schedule.passes != "steps" else plan.rows[-1] if plan.rows else -1
    for element in part.elements:
        item = ITEM_BYTES[part.argument(element).dtype]
        apart = stride(element, fast, part.sizes) if fast in element.axes else 1
        waste = SECTOR / item if apart is None or abs(apart) * item >= SECTOR else max(1, abs(apart))
        again = 2 if schedule.passes == "blocks" and plan.wide else 1
        moved += prod(element.sizes) * item * waste * again
    return moved
