"""Slow axes of the rows that are one number for all of a program's tile.

What hangs on these alone, such as the moments of a batch or the parameters of a channel, a program then reads once, and it
makes once what is made of it, such as a root and a division. Were they digits of each row's position, every element of a tile
would have its own: the last kernel of `conv_group_norm_logsumexp` had 110 instructions for an element, and has 50.
"""

from math import prod

from kernelwright.propose.author.families.strided.plan import Strided
from kernelwright.propose.author.families.strided.schedule import StridedSchedule
from kernelwright.records.tensor import ITEM_BYTES

WASTED = 1 / 16
"""Share of the rows beside each outer position that tiles may have too many."""
WIDE_BYTES = 16
"""Of one load. Where the extent of the rows is no multiple of it, tiles that begin anew have narrow loads."""


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
