"""A reduction of rows that begin at odd places in memory, as one of several rows after one another that do not.

Along a middle axis of a tensor whose last extent is odd, rows begin at any place between two multiples of 16 bytes, so that
threads load one number each. As many of them as begin at such a multiple together are one row for a first kernel; a second one
reduces what is left of each.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from math import gcd, prod

from kernelwright.propose.author.plan.expr import Const, Element, Expr, Index, Reduce, transform, walk
from kernelwright.propose.author.plan.plan import Tensor
from kernelwright.records.tensor import ITEM_BYTES

WIDE_BYTES = 16
"""Of one load."""
MANY = 1 << 26
"""Elements from which on two kernels may take less than one."""
LEAST = 64
"""Rows that a first kernel makes one of: to store and read what it leaves takes a thirtieth of what it reads then."""
OPS = ("sum", "amax", "amin", "max", "min")


@dataclass(frozen=True)
class Folded:
    """A reduction in two."""

    first: Reduce
    place: int
    """The axis of several rows after one another, in the first reduction."""
    turn: int
    """The axis of these rows, in the second one."""
    sizes: tuple[int, int]
    """Of that axis, and of a row."""

    def second(self, stored: Element, last: int) -> Reduce:
        """The reduction of what the first one left, of rows along the axis `last`."""
        index, sizes = (*stored.index[:-1], Index(self.turn), Index(last)), (*stored.sizes[:-1], *self.sizes)
        return Reduce(self.first.op, replace(stored, index=index, sizes=sizes), (self.turn,))


def folded(
    node: Reduce, last: int, size: Callable[[int], int], new: Callable[[int], int], tensors: Mapping[str, Tensor]
) -> Folded | None:
    """The reduction along one axis in two, of results that lie along `last`; None where its rows need not be folded."""
    reads = [n for n in walk(node.arg) if isinstance(n, Element) and {last, *node.over} & n.axes]
    if node.op not in OPS or node.kind != "float" or len(node.over) > 1 or not _alike(node, last, reads, size):
        return None
    (axis,), row = node.over, size(last)
    count = max(_rows(row, ITEM_BYTES[tensors[e.name].dtype]) for e in reads)
    length = size(axis) // count
    if count == 1 or size(axis) % count or length < LEAST or prod(reads[0].sizes) < MANY:
        return None
    group, place, turn = new(length), new(count * row), new(count)

    def moved(element: Expr) -> Expr:
        if not isinstance(element, Element) or element not in reads:
            return element
        index = (*element.index[:-2], Index(group), Index(place))
        return replace(element, index=index, sizes=(*element.sizes[:-2], length, count * row))

    return Folded(Reduce(node.op, transform(node.arg, moved), (group,)), place, turn, (count, row))


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
