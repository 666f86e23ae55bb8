"""A reduction over windows with several sides as two: over all sides but the last for every position along it, then over it.

Windows of neighbouring results begin apart, so that threads which make them read far from each other. For every position along
the dimension that lies together in memory, neighbours read neighbours; what is left for the last side is few elements.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from math import inf, prod

from kernelwright.propose.author.ir.expr import Call, Const, Element, Expr, Index, Reduce, conjuncts, transform, walk
from kernelwright.propose.author.ir.positions import every

STARTS = {"sum": 0.0, "max": -inf, "amax": -inf, "min": inf, "amin": inf}
"""What a reduction begins with."""


@dataclass(frozen=True)
class Sides:
    """A reduction in two."""

    first: Reduce
    """Over all sides but the last."""
    place: int
    """The axis of the positions along the last one, in the first reduction."""
    length: int
    """How many there are."""
    position: Expr
    """Where along that axis a step of the last side lies."""
    inside: Expr | None
    """What must hold for the step to exist."""
    over: tuple[int, ...]
    """The axis of its steps."""

    def second(self, stored: Element) -> Reduce:
        """The reduction over the last side of what the first one left."""
        index = tuple(self.position if i == Index(self.place) else i for i in stored.index)
        read = replace(stored, index=index, inside=self.inside)
        return Reduce(self.first.op, _guarded(read, self.inside, self.first.op), self.over)


def sides(node: Reduce, new: Callable[[int], int]) -> Sides | None:
    """The reduction in two; None where it is over no window with several sides. `new` makes an axis of a length."""
    if node.op not in STARTS or node.kind != "float" or len(node.over) < 2:
        return None
    conditions, value = _taken_apart(node)
    found = _last(value, node.over)
    if found is None:
        return None
    position, length = found
    steps = tuple(axis for axis in node.over if axis in position.axes)
    outer = every([c for c in conditions if c.axes & set(steps)])
    inner = every([c for c in conditions if not c.axes & set(steps)])
    place = new(length)
    moved = _at_every_place(value, position, place, outer)
    rest = tuple(axis for axis in node.over if axis not in steps)
    first = Reduce(node.op, _guarded(moved, inner, node.op), rest)
    if first.axes & position.axes or (outer is not None and outer.axes & set(rest)):
        return None
    return Sides(first, place, length, position, outer, steps)


def _guarded(value: Expr, inside: Expr | None, op: str) -> Expr:
    return value if inside is None else Call("where", (inside, value, Const(STARTS[op])))


def _taken_apart(node: Reduce) -> tuple[list[Expr], Expr]:
    """What must hold for an element of a window to exist, and the element."""
    match node.arg:
        case Call(op="where", args=(condition, value, Const(value=start))) if start == STARTS[node.op]:
            return conjuncts(condition), value
    return [], node.arg


def _last(value: Expr, over: tuple[int, ...]) -> tuple[Expr, int] | None:
    """Where along the dimension that lies together a step of one side of a window is, and the dimension's length."""
    reads = sorted((n for n in walk(value) if isinstance(n, Element)), key=lambda e: -prod(e.sizes))
    if not reads or not reads[0].index:
        return None
    position, steps = reads[0].index[-1], set(over)
    slid = [index for index in reads[0].index if index.axes & steps]
    windows = position in slid and all(len(i.axes) == 2 and len(i.axes & steps) == 1 for i in slid)
    known = not any(isinstance(n, Element) for n in walk(*slid))
    every_side = set().union(*(i.axes for i in slid)) >= steps
    return (position, reads[0].sizes[-1]) if windows and known and every_side else None


def _at_every_place(value: Expr, position: Expr, place: int, outer: Expr | None) -> Expr:
    """The element with a place instead of a position, read wherever the rest of its conditions holds."""
    known = conjuncts(outer)

    def change(node: Expr) -> Expr:
        if not isinstance(node, Element) or position not in node.index:
            return node
        index = tuple(Index(place) if i == position else i for i in node.index)
        return replace(node, index=index, inside=every([c for c in conjuncts(node.inside) if c not in known]))

    return transform(value, change)
