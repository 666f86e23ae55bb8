"""The schedule of a Triton kernel over any axes, and its space."""

from typing import Literal

from kernelwright.propose.author.families.strided.plan import Strided, stride
from kernelwright.propose.author.schedule.space import Option
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
"""Bytes of a wide load, and those that memory hands out at least."""
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
