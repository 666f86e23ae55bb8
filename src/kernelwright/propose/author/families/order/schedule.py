"""The schedule of a sort, and its space."""

from typing import Literal

from kernelwright.propose.author.families.order.plan import FEW, LONGEST_SORTED, Sorted
from kernelwright.propose.author.schedule.space import Option
from kernelwright.records.base import Record

TILE = 1024
"""Elements that a program of short rows holds."""


class OrderSchedule(Record):
    """Degrees of freedom; none changes the result."""

    rows: int = 1
    """Rows that a program takes. A power of two."""
    warps: int = 4
    how: Literal["network", "rounds"] = "network"
    """A bitonic network (Batcher 1968), or the largest of what is left, once for each place."""


def block(plan: Sorted) -> int:
    """Elements of a tile's row."""
    return 1 << (plan.length - 1).bit_length()


def order_default(plan: Sorted) -> OrderSchedule:
    """Rounds for few places; as many rows as fill a tile."""
    width = block(plan)
    rows = min(max(1, TILE // width), 1 << max(0, plan.row_count - 1).bit_length())
    how: Literal["network", "rounds"] = "rounds" if plan.places <= FEW else "network"
    return OrderSchedule(rows=rows, how=how, warps=max(4, min(16, rows * width // 512)))


def order_space(plan: Sorted) -> list[Option]:
    """The options that mean something for this plan."""
    options = [Option("rows", (1, 2, 4, 8, 16), "latency"), Option("warps", (1, 2, 4, 8, 16), "latency")]
    if plan.places <= 4 * FEW and plan.length <= LONGEST_SORTED:
        options.append(Option("how", ("network", "rounds"), "compute"))
    return options
