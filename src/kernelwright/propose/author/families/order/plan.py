"""Rows that are sorted, or of which the first places are wanted; values, places, or both.

An element and its position travel as one whole number, which grows towards the first place: the bits of a float in the order
of floats (a NaN is the largest, as in PyTorch), and below them the position, so that the first of equals comes first.
"""

from dataclasses import dataclass

from kernelwright.propose.author.families.family import Match
from kernelwright.propose.author.families.strided.plan import merged
from kernelwright.propose.author.plan.expr import Expr, Order
from kernelwright.propose.author.plan.program import Part, heavies

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
