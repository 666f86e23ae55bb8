"""A reduction of rows that begin at odd places in memory, as one of several rows after one another that do not.

Along a middle axis of a tensor whose last extent is odd, rows begin at any place between two multiples of 16 bytes, so that
threads load one number each. As many of them as begin at such a multiple together are one row for a first kernel; a second one
reduces what is left of each.
"""

from collections.abc import Callable, Sequence
from dataclasses import replace
from math import gcd, prod

from kernelwright.propose.author.ir.expr import Const, Element, Expr, Index, Reduce, transform, walk
from kernelwright.propose.author.rules.rule import Cut, Site
from kernelwright.records.tensor import ITEM_BYTES

WIDE_BYTES = 16
"""Of one load."""
MANY = 1 << 26
"""Elements from which on two kernels may take less than one."""
LEAST = 64
"""Rows that a first kernel makes one of: to store and read what it leaves takes a thirtieth of what it reads then."""
OPS = ("sum", "amax", "amin", "max", "min")


def packed_rows(site: Site) -> Cut | None:
    """The reduction along one axis as one of several rows together, and one of what that leaves of each.

    What is read once more for another reduction, as for the place of a maximum, is read once by one kernel.
    """
    node, axes, size, new = site.node, site.axes, site.lowering.size, site.lowering.new_axis
    again = any(isinstance(n, Reduce) and n != node and node in walk(n.arg) for n in walk(site.root.expr))
    if not axes or again or node.op not in OPS or node.kind != "float" or len(node.over) > 1:
        return None
    last, (axis,) = axes[-1], node.over
    reads = [n for n in walk(node.arg) if isinstance(n, Element) and {last, axis} & n.axes]
    if not _alike(node, last, reads, size):
        return None
    row, count = size(last), max(_rows(size(last), ITEM_BYTES[site.lowering.tensors[e.name].dtype]) for e in reads)
    length = size(axis) // count
    if count == 1 or size(axis) % count or length < LEAST or prod(reads[0].sizes) < MANY:
        return None
    group, place, turn = new(length), new(count * row), new(count)

    def moved(element: Expr) -> Expr:
        if not isinstance(element, Element) or element not in reads:
            return element
        index = (*element.index[:-2], Index(group), Index(place))
        return replace(element, index=index, sizes=(*element.sizes[:-2], length, count * row))

    def then(left: Element) -> dict[str, Expr]:
        index, sizes = (*left.index[:-1], Index(turn), Index(last)), (*left.sizes[:-1], count, row)
        return {node.key: Reduce(node.op, replace(left, index=index, sizes=sizes), (turn,))}

    return Cut((Reduce(node.op, transform(node.arg, moved), (group,)),), (*axes[:-1], place), then)


def _rows(row: int, item_bytes: int) -> int:
    """How many rows of so many elements come to a multiple of a wide load."""
    wide = WIDE_BYTES // item_bytes
    return wide // gcd(wide, row)


def _alike(node: Reduce, last: int, reads: Sequence[Element], size: Callable[[int], int]) -> bool:
    """Whether all that is read lies along both axes, innermost, and nothing else hangs on them."""
    ends, sizes = (Index(node.over[0]), Index(last)), (size(node.over[0]), size(last))
    inner = {last, *node.over}
    plain = all(e.inside is None and e.index[-2:] == ends and e.sizes[-2:] == sizes for e in reads)
    plain = plain and not any(inner & i.axes for e in reads for i in e.index[:-2])
    rest = transform(node.arg, lambda n: Const(0.0) if isinstance(n, Element) and n in reads else n)
    return plain and bool(reads) and not rest.axes & inner
