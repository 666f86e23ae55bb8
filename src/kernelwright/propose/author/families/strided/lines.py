"""Windows along lines that a program holds: it reduces over the lines of a window first, and then over each window's places.

Seven by seven windows of a plane are seven sums of lines, of which each has seven windows: every element is read once, beside
its neighbours, and nothing is left for another kernel.
"""

from dataclasses import dataclass, replace

from kernelwright.propose.author.plan.expr import Call, Const, Expr, Index, Reduce, transform
from kernelwright.propose.author.plan.positions import evaluated, plus, whole
from kernelwright.propose.author.plan.program import Part
from kernelwright.propose.author.plan.sides import Sides, sides

MOST = 16
"""Windows along a line, at most: each passes over the whole line."""
LONGEST = 4096
"""Elements of a line, at most."""
LEAST = 64
"""Elements of a window, at least; of fewer a thread makes results of its own."""


@dataclass(frozen=True)
class Lines:
    """How the windows lie."""

    sides: Sides
    window: int
    """The axis of the windows along a line."""
    rows: tuple[int, ...]
    """Axes of the results that have a line of windows each."""
    member: Expr
    """Whether a place belongs to a window."""

    @property
    def length(self) -> int:
        """Elements of a line."""
        return self.sides.length

    def part(self, part: Part) -> Part:
        """The same with an axis for the places."""
        return replace(part, sizes={**part.sizes, self.sides.place: self.length})


def lines_of(part: Part, rows: tuple[int, ...], node: Reduce) -> Lines | None:
    """The windows of the only reduction of a kernel; None where they are no few large ones that lie along a line."""
    place = max(part.sizes) + 1
    found = sides(node, lambda _: place)
    if found is None:
        return None
    (window,), (step,) = found.position.axes - set(found.over), found.over
    count, extent = part.sizes[window], part.sizes[step]
    few = count <= MOST and found.length <= LONGEST and count * extent * 2 >= found.length
    if (
        not few
        or window not in rows
        or part.count(node.over) < LEAST
        or not _follows(found.position, window, step, part)
    ):
        return None
    member = _member(found, step, extent)
    others = tuple(axis for axis in rows if axis != window)
    return Lines(found, window, others, member) if others and step not in member.axes else None


def _follows(position: Expr, window: int, step: int, part: Part) -> bool:
    """Whether a window's steps follow one another, wherever it is."""
    last = part.sizes[step] - 1
    for at in range(part.sizes[window]):
        first = evaluated(position, {window: at})
        if first is None or evaluated(position, {window: at, step: last}) != first + last:
            return False
    return True


def _member(found: Sides, step: int, extent: int) -> Expr:
    """That a place is not before the first step of a window, nor behind its last."""
    place = Index(found.place)
    first = transform(found.position, lambda node: _without(node, step))
    inside = Call(
        "and", (Call("ge", (place, first), "bool"), Call("lt", (place, plus(first, whole(extent))), "bool")), "bool"
    )
    if found.inside is None:
        return inside
    known = transform(found.inside, lambda node: place if node == found.position else node)
    return Call("and", (inside, known), "bool")


def _without(node: Expr, step: int) -> Expr:
    """A position at the first step."""
    match node:
        case Index(axis=axis) if axis == step:
            return whole(0)
        case Call(op="add", args=(left, Const(value=0.0))):
            return left
        case Call(op="add", args=(Const(value=0.0), right)):
            return right
    return node
