"""The schedule of a Triton kernel over any axes, its space, and what it costs.

By estimate: bytes at the bandwidth that its accesses leave, and waves of programs.

Slow axes of the rows may be one number for all of a program's tile. What hangs on these alone, such as the moments of a batch
or the parameters of a channel, a program then reads once, and it makes once what is made of it, such as a root and a division.
Were they digits of each row's position, every element of a tile would have its own: the last kernel of
`conv_group_norm_logsumexp` had 110 instructions for an element, and has 50.
"""

from math import prod
from typing import Literal

from kernelwright.propose.author.families.strided.plan import Strided, stride
from kernelwright.propose.author.ir.expr import Element, Expr, Reduce
from kernelwright.propose.author.ir.space import Option
from kernelwright.records.base import Record
from kernelwright.records.tensor import ITEM_BYTES

WHOLE_LIMIT = 32768
"""Longest row, in elements, that one program holds at once."""
STEPS_LIMIT = 1024
"""Longest row that is walked element by element."""
UNROLLED, FEW_STEPS = 16, 8
"""Steps that are written out, and so few that a thread has room for the results of four rows."""
TILE = 1024
"""Elements of a tile that keeps enough loads under way."""
HELD, APART = 1024, 8192
"""Longest row of elements that lie apart which a program holds, and elements of it and the rows beside it."""
MOST = 1 << 20
"""Elements of a tile, beyond which Triton compiles none."""
LANES = 32
WIDE_BYTES, SECTOR = 16, 32
"""Bytes of a wide load, and those that memory hands out at least. Where the extent of the rows is no multiple of a wide
load, tiles that begin anew have narrow loads."""
LONG_LINE, MANY_TILES = 256, 1024
"""Rows beside one another that a program takes where lines begin within a sector, and tiles that keep a device busy."""
MANY_ROWS = 1 << 20
"""Rows that keep a device busy however many a thread takes."""
EACH, APART_EACH = 16, 64
"""Elements of a tile that are one thread's: where they lie together, and where they lie apart."""
MOST_WARPS, OF_LONGEST = 16, 32
"""Warps of a program, and of one whose tile would not fit its registers."""


class StridedSchedule(Record):
    """Degrees of freedom; none changes the result."""

    rows: int = 1
    """Rows that a program takes. A power of two."""
    block: int = 1
    """Columns of a tile. A power of two."""
    warps: int = 4
    passes: Literal["whole", "blocks", "steps", "lines"] = "steps"
    """A row at once, or in blocks, or one column after the other, every thread at rows of its own; or lines of windows."""
    stacked: int = 1
    """Results above one another that a thread makes in steps, where their windows overlap."""


def strided_default(plan: Strided) -> StridedSchedule:
    """Where a person would start: tiles along what lies together in memory, whole rows where they fit."""
    if not plan.columns:
        return StridedSchedule(rows=_within(plan.row_count, TILE))
    if not plan.reduced:
        side = 32 if min(plan.part.sizes[plan.rows[-1]], plan.part.sizes[plan.columns[-1]]) < 64 else 64
        return StridedSchedule(rows=side, block=side, passes="whole", warps=8 if side == 64 else 4)
    if plan.lines:
        block = 1 << (plan.lines.length - 1).bit_length()
        rows = _within(plan.part.count(plan.lines.rows), max(1, TILE // block))
        return StridedSchedule(rows=rows, block=block, passes="lines", warps=_warps(rows * block))
    columns = plan.column_count
    block = 1 << (columns - 1).bit_length()
    again = len(plan.passes) > 1 and not plan.slides
    if block <= HELD and not plan.dense_columns and (plan.wide or again):
        rows = _within(plan.row_count, max(16, APART // block))
        # A column's elements are some thread's own for the most part: what crosses threads costs more than what waits.
        return StridedSchedule(rows=rows, block=block, passes="whole", warps=_warps(rows * block, APART_EACH))
    stepped = columns <= STEPS_LIMIT and not plan.dense_columns and not _whole_axis(plan)
    if not plan.wide and (columns <= 2 * UNROLLED or stepped):
        return _stepped(plan)
    if plan.beside and not plan.wide and columns <= STEPS_LIMIT:
        return StridedSchedule(rows=_within(plan.row_count, 256), warps=8)
    if plan.dense_columns:
        whole = block <= WHOLE_LIMIT
        block = block if whole else 4096
        rows = _within(plan.row_count, max(1, TILE // block))
        return StridedSchedule(
            rows=rows, block=block, passes="whole" if whole else "blocks", warps=_warps(rows * block)
        )
    # The sector in which a line begins is handed out for its neighbour too: a share of what is read that long lines lessen.
    long = _begins_within_sectors(plan) and plan.row_count >= MANY_TILES * LONG_LINE
    rows = _within(plan.row_count, LONG_LINE if long else 64)
    return StridedSchedule(rows=rows, block=min(block, 32), passes="blocks", warps=4)


def _begins_within_sectors(plan: Strided) -> bool:
    """Whether long lines of the only thing that is read begin at multiples of wide loads, and not at those of sectors."""
    part, column = plan.part, plan.columns[-1]
    lines = [e for e in part.elements if column in e.axes]
    if len(lines) != 1 or not plan.rows or part.sizes[plan.rows[-1]] < LONG_LINE:
        return False
    if stride(lines[0], plan.rows[-1], part.sizes) != 1:
        return False
    step = (stride(lines[0], column, part.sizes) or 0) * ITEM_BYTES[part.argument(lines[0]).dtype]
    return step % WIDE_BYTES == 0 and step % SECTOR != 0


def _stepped(plan: Strided) -> StridedSchedule:
    """One column after the other, a row or several above one another for each thread."""
    if plan.overlap and plan.row_count >= MANY_ROWS:
        # On an H200 eight results of a window in one or two dimensions, and four in three, are the most that pays.
        flat = len(plan.columns) <= 2
        return StridedSchedule(rows=256 if flat else 128, stacked=8 if flat else 4)
    many = 512 if plan.column_count <= FEW_STEPS and plan.row_count >= MANY_ROWS else 256
    return StridedSchedule(rows=_within(plan.row_count, 128 if plan.row_count < 1 << 16 else many))


def that_fits(plan: Strided, schedule: StridedSchedule) -> StridedSchedule:
    """The schedule, with no more rows a program than Triton has tiles for."""
    most = MOST if schedule.passes == "steps" else MOST // block_of(plan, schedule)
    return schedule.model_copy(update={"rows": max(1, min(schedule.rows, most))})


def block_of(plan: Strided, schedule: StridedSchedule) -> int:
    """Columns of a tile: all of them where a row is taken at once, and never more than that."""
    if not plan.reduced or not plan.columns:
        return schedule.block
    if schedule.passes == "lines" and plan.lines:
        return 1 << (plan.lines.length - 1).bit_length()
    every = 1 << (plan.column_count - 1).bit_length()
    return every if schedule.passes == "whole" else min(schedule.block, every)


def _whole_axis(plan: Strided) -> bool:
    """Whether what is reduced is one axis and no window: blocks of it are loaded at once."""
    return len(plan.columns) == 1 and all(e.inside is None for e in plan.part.elements)


def _within(count: int, most: int) -> int:
    """The power of two that holds all, or the most."""
    return min(most, 1 << max(0, count - 1).bit_length())


def _warps(tile: int, each: int = EACH) -> int:
    return max(4, min(OF_LONGEST if tile > WHOLE_LIMIT // 2 else MOST_WARPS, tile // (LANES * each)))


def strided_space(plan: Strided) -> list[Option]:
    """The options that mean something for this plan."""
    options = [Option("warps", (2, 4, 8, 16), "latency")]
    if not plan.columns:
        return [Option("rows", (256, 512, 1024, 2048, 4096), "memory"), *options]
    if not plan.reduced:
        sides = (16, 32, 64, 128)
        return [Option("rows", sides, "memory"), Option("block", sides, "memory"), *options]
    whole = ("whole",) * (plan.column_count <= WHOLE_LIMIT)
    steps = ("steps",) * (not plan.wide and plan.column_count <= STEPS_LIMIT)
    lines = ("lines",) * (plan.lines is not None)
    rows = (1, 2, 4, 8, 16, 32, 64, 128, 256, 512)
    options.append(Option("rows", rows, "latency"))
    options.append(Option("block", (8, 16, 32, 64, 256, 1024, 2048, 4096, 8192), "memory"))
    options.append(Option("passes", (*whole, "blocks", *steps, *lines), "memory"))
    if steps and plan.overlap:
        options.append(Option("stacked", (1, 2, 4, 8), "compute"))
    return options


WASTED = 1 / 16
"""Share of the rows beside each outer position that tiles may have too many."""


LONG_LINES = 2
"""Times a tile's rows that a line of windows has, so that most tiles lie far from its ends."""


def outer_axes(plan: Strided, schedule: StridedSchedule) -> tuple[int, ...]:
    """The most axes of which tiles of the others waste little, if something hangs on these alone; else none."""
    if plan.places or (plan.columns and not plan.reduced):
        return ()
    if plan.columns and schedule.passes == "steps":
        return of_lines(plan, schedule.rows) if schedule.stacked == 1 else ()
    if plan.columns and schedule.passes not in ("whole", "blocks"):
        return ()
    known = [set(e.axes) & set(plan.rows) for e in plan.part.elements]
    for end in range(len(plan.rows) - 1, 0, -1):
        axes, rest = plan.rows[:end], plan.part.count(plan.rows[end:])
        alone = any(one and one <= set(axes) for one in known)
        if alone and _wide(plan, rest) and _tiles(rest, schedule) * schedule.rows <= rest * (1 + WASTED):
            return axes
    return ()


def of_lines(plan: Strided, rows: int) -> tuple[int, ...]:
    """All axes but the one along which windows slide in long lines, so that a tile's windows are whole or not together."""
    if not plan.slides or plan.wide or len(plan.rows) < 2 or len(plan.passes) != 1:
        return ()
    line = plan.part.sizes[plan.rows[-1]]
    fits = line >= LONG_LINES * rows and -(-line // rows) * rows <= line * (1 + WASTED)
    return plan.rows[:-1] if fits and plan.ends else ()


def row_tiles(plan: Strided, schedule: StridedSchedule) -> int:
    """Tiles of all rows."""
    outer = outer_axes(plan, schedule)
    return plan.part.count(outer) * _tiles(plan.row_count // plan.part.count(outer), schedule)


def _tiles(rows: int, schedule: StridedSchedule) -> int:
    return -(-rows // schedule.rows)


def _wide(plan: Strided, rest: int) -> bool:
    """Whether loads of the largest tensor stay as wide as they were."""
    largest = max(plan.part.elements, key=lambda e: prod(e.sizes))
    return rest * ITEM_BYTES[plan.part.argument(largest).dtype] % WIDE_BYTES == 0


BYTES_US = 4.0e6
"""Bytes that memory gives in a microsecond."""
LAUNCH_US, TURN_US = 2.5, 0.3
"""Of a launch, and of one program after another in the same place."""
MULTIPROCESSORS, THREADS, BLOCKS = 132, 2048, 32
"""Of a large device; of one multiprocessor."""
UNDER_WAY = 32768
"""Bytes of loads that a multiprocessor needs under way to hide how long memory takes."""
STEPS_AT_ONCE = 4
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
    return (
        min(STEPS_AT_ONCE, plan.column_count)
        if plan.reduced and schedule.passes == "steps"
        else block_of(plan, schedule)
    )


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
