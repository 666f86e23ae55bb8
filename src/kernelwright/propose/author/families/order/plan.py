"""Rows that are sorted, or of which the first places are wanted; values, places, or both.

An element and its position travel as one whole number, which grows towards the first place: the bits of a float in the order
of floats (a NaN is the largest, as in PyTorch), and below them the position, so that the first of equals comes first.
"""

from dataclasses import dataclass
from math import log2, prod
from typing import Literal

from kernelwright.propose.author.families.family import Match
from kernelwright.propose.author.families.strided.plan import merged
from kernelwright.propose.author.ir.expr import Expr, Order
from kernelwright.propose.author.ir.program import Part, heavies
from kernelwright.propose.author.ir.space import Option
from kernelwright.records.base import Record

FEW = 16
"""Places that are found one after the other."""
LONGEST, LONGEST_SORTED = 16384, 4096
"""Elements of a row that a program of a GPU holds: of which few places are wanted, and which it sorts."""


@dataclass(frozen=True)
class Sorted:
    """A sort of rows along an axis."""

    part: Part
    rows: tuple[int, ...]

    @property
    def node(self) -> Order:
        """What is sorted; the results differ only in what they tell."""
        (node, *_) = (root.expr for root in self.part.roots if isinstance(root.expr, Order))
        return node

    @property
    def row_count(self) -> int:
        """Rows in all."""
        return self.part.count(self.rows)

    @property
    def length(self) -> int:
        """Elements of a row."""
        return self.part.sizes[self.node.axis]

    @property
    def places(self) -> int:
        """How many of the sorted ones are wanted."""
        return self.part.sizes[self.node.place]


def matched(part: Part) -> Match | None:
    """The part as one sort, or what must be stored for it to be one."""
    nodes: list[Expr] = [node for node in part.heavies if isinstance(node, Order)]
    if not nodes:
        return None
    if any(not isinstance(root.expr, Order) for root in part.roots):
        return Match(None, nodes)
    inner = heavies(part.roots[0].expr.children[0])
    if inner:
        return Match(None, inner)
    plan = Sorted(part, ())
    rows = tuple(a for a in part.roots[0].axes if a != plan.node.place)
    joined, (rows,) = merged(part, [rows])
    return Match(Sorted(joined, rows))


def matched_on_gpu(part: Part) -> Match | None:
    """The same; no answer to rows that one program cannot hold."""
    found = matched(part)
    if found is None or not isinstance(found.plan, Sorted):
        return found
    few = found.plan.places <= FEW
    return found if found.plan.length <= (LONGEST if few else LONGEST_SORTED) else Match(None)


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


BYTES_US = 3.5e6
LAUNCH_US = 2.5
STEPS_US = 2.0e6
"""Elements that a large device compares and exchanges in a microsecond."""


def order_cost(plan: Sorted, schedule: OrderSchedule) -> float:
    """Estimated microseconds on a large device."""
    width = block(plan)
    bits = log2(width)
    steps = plan.places if schedule.how == "rounds" else bits * (bits + 1) / 2
    moved = 4.0 * sum(prod(e.sizes) for e in plan.part.elements) + 8.0 * plan.row_count * plan.places
    padded = -(-plan.row_count // schedule.rows) * schedule.rows * width
    spare = max(1.0, schedule.rows * width / (schedule.warps * 32) / 64)
    return LAUNCH_US + max(moved / BYTES_US, padded * steps / STEPS_US * spare)
