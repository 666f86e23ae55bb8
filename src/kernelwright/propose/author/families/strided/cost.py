"""What a kernel over any axes costs: bytes at the bandwidth that its accesses leave, and waves of programs."""

from math import prod

from kernelwright.propose.author.families.strided.outer import row_tiles
from kernelwright.propose.author.families.strided.plan import Strided, stride
from kernelwright.propose.author.families.strided.schedule import LANES, SECTOR, StridedSchedule, block_of, that_fits
from kernelwright.propose.author.plan.expr import Element, Expr, Reduce
from kernelwright.records.tensor import ITEM_BYTES

BYTES_US = 4.0e6
"""Bytes that memory gives in a microsecond."""
LAUNCH_US, TURN_US = 2.5, 0.3
"""Of a launch, and of one program after another in the same place."""
MULTIPROCESSORS, THREADS, BLOCKS = 132, 2048, 32
"""Of a large device; of one multiprocessor."""
UNDER_WAY = 32768
"""Bytes of loads that a multiprocessor needs under way to hide how long memory takes."""
UNROLLED = 4
"""Steps of a loop whose loads a compiler issues together."""
ISSUED_US = 28.0e6
"""Instructions of single threads that a large device issues in a microsecond."""
A_LOAD, A_TERM, A_RESULT = 7, 2, 12
"""Instructions of a load in a window with its position and mask, of what joins it to a result, and of a result."""
A_WINDOW = 8
"""Of a place of a line for each of the line's windows."""
A_PLACED = 45
"""Of a load where every thread works out for itself where in a window it is: 38 and 53 in two measured kernels."""
READ_AGAIN = 0.7
"""What another pass over a tile costs of the first: a cache has it, yet a kernel that read twice took 1.7 times as long."""
CACHE_BYTES, DROPPED = 128 * 1024, 2.0
"""Of a multiprocessor's cache that keeps what windows leave of sectors until the next step, and bytes that are handed out for
one where there is more: 1.6 to 4 times as long in measured kernels."""
CROWDED = 64
"""Elements of a tile in one thread from which on registers spill."""


def strided_cost(plan: Strided, schedule: StridedSchedule) -> float:
    """Estimated microseconds on a large device."""
    schedule = that_fits(plan, schedule)
    threads = LANES * schedule.warps
    tile = schedule.rows * schedule.stacked * _columns_of_tile(plan, schedule)
    resident = min(BLOCKS, THREADS // threads)
    busy = min(1.0, resident * tile * 4 / UNDER_WAY)
    spilt = 1.0 if tile <= CROWDED * threads else 2.0
    lines = plan.lines if schedule.passes == "lines" else None
    apart = plan.part.count(lines.rows) if lines else plan.row_count if schedule.stacked > 1 else 0
    programs = -(-apart // (schedule.rows * schedule.stacked)) if apart else row_tiles(plan, schedule)
    if plan.columns and not plan.reduced:
        programs *= -(-plan.column_count // schedule.block)
    filled = min(1.0, programs / MULTIPROCESSORS)
    turns = -(-programs // (MULTIPROCESSORS * resident))
    working = max(_moved(plan, schedule) / BYTES_US / busy * spilt, _issued(plan, schedule) / ISSUED_US)
    return LAUNCH_US + working / filled + turns * TURN_US


def _issued(plan: Strided, schedule: StridedSchedule) -> float:
    """Instructions of all threads where windows slide, for what lies outside of them too; elsewhere memory takes longer."""
    if not plan.reduced or not plan.slides:
        return 0.0
    block = block_of(plan, schedule)
    if schedule.passes == "lines" and plan.lines:
        held = plan.part.count(plan.lines.rows) * block
        reads = plan.part.count(plan.lines.sides.first.over)
        return held * ((A_LOAD + A_TERM) * reads + A_WINDOW * plan.part.sizes[plan.lines.window])
    loads = terms = plan.column_count if schedule.passes == "steps" else -(-plan.column_count // block) * block
    overlap, share = plan.overlap, 1.0
    if overlap is not None and schedule.stacked > 1 and schedule.passes == "steps":
        extent = plan.part.sizes[overlap.step]
        share = (extent + overlap.ahead * (schedule.stacked - 1)) / (extent * schedule.stacked)
    load = A_LOAD if schedule.passes == "steps" else A_PLACED
    return plan.row_count * (load * loads * share + A_TERM * terms + A_RESULT)


def _columns_of_tile(plan: Strided, schedule: StridedSchedule) -> int:
    if not plan.columns:
        return 1
    return min(UNROLLED, plan.column_count) if plan.reduced and schedule.passes == "steps" else block_of(plan, schedule)


def _moved(plan: Strided, schedule: StridedSchedule) -> float:
    """Bytes that memory hands out."""
    part = plan.part
    moved = sum(float(prod(t.shape)) * ITEM_BYTES[t.dtype] for t in part.writes)
    for element in part.elements:
        again = 0 if schedule.passes == "whole" else max(0, _readings(plan, element) - 1)
        item = ITEM_BYTES[part.argument(element).dtype]
        moved += prod(element.sizes) * item * _waste(plan, schedule, element, item) * (1 + READ_AGAIN * again)
    return moved


def _readings(plan: Strided, element: Element) -> int:
    """Passes over the columns that read an element."""
    ends = [[r.arg for r in group] for group in plan.readings] + [[r.expr for r in plan.wide]]
    return sum(any(_reads(end, element) for end in group) for group in ends) if plan.along_columns(element) else 1


def _reads(expr: Expr, element: Element) -> bool:
    """Whether an expression reads an element itself, and not only a reduction in it."""
    return expr == element or (not isinstance(expr, Reduce) and any(_reads(c, element) for c in expr.children))


def _waste(plan: Strided, schedule: StridedSchedule, element: Element, item: int) -> float:
    """Bytes that are handed out for one that is asked for; what a window leaves of a sector its next step takes."""
    if plan.slides and schedule.passes in ("steps", "lines"):
        programs = min(BLOCKS, THREADS // (LANES * schedule.warps))
        return DROPPED if programs * schedule.rows * plan.beside > CACHE_BYTES else 1.0
    sides = [(plan.rows, schedule.rows), (plan.columns, _columns_of_tile(plan, schedule))]
    fast = [axes[-1] for axes, side in sides if axes and side * item >= SECTOR]
    if not fast or any(axis not in element.axes for axis in fast):
        return 1.0 if fast else SECTOR / item
    apart = [stride(element, axis, plan.part.sizes) for axis in fast]
    nearest = min((abs(one) for one in apart if one is not None), default=SECTOR)
    return min(SECTOR / item, max(1.0, nearest))
