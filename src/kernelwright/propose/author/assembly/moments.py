"""Sum and squared distances of long rows from one reading of them.

A row is cut into stretches that one program holds. Each leaves its sum and its squared distances from its own mean, of which
those of the row are made: Chan, Golub and LeVeque 1983, "Algorithms for computing the sample variance", section 2.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from math import prod

from kernelwright.propose.author.families.strided.plan import FEW
from kernelwright.propose.author.plan.expr import Call, Const, Expr, Index, Reduce, transform, walk
from kernelwright.propose.author.plan.positions import plus, times

LEAST, HELD = 2048, 16384
"""Elements of a stretch, at least and at most: a program of sixteen warps has 32 of them in each thread's registers."""
LEAST_APART, HELD_APART = 64, 128
"""The same where a stretch's elements lie apart, and a program holds those of many rows beside each other."""
PROGRAMS = 1024
"""Stretches that keep a device busy."""


@dataclass(frozen=True)
class Stretches:
    """How rows are cut."""

    inside: tuple[int, ...]
    """Axes of a stretch."""
    across: tuple[int, ...]
    """Axes over the stretches of a row."""
    count: int
    """Elements of a stretch."""
    moved: Mapping[int, Expr]
    """Positions along axes that are cut."""


def stretches(
    over: Sequence[int], rows: int, dense: bool, size_of: Callable[[int], int], new: Callable[[int], int]
) -> Stretches | None:
    """Stretches of equal length of so many rows over these axes, slowest first; None where none are long enough.

    `dense` says whether neighbours in a row lie together. `new` makes an axis of a length.
    """
    every = prod(map(size_of, over))
    least, held = (LEAST, HELD) if dense else (LEAST_APART, HELD_APART)
    most = min(held, max(least, rows * every // PROGRAMS))
    rest, inside, count = list(over), list[int](), 1
    while rest and count * size_of(rest[-1]) <= most:
        count *= size_of(rest[-1])
        inside.insert(0, rest.pop())
    if not rest:
        return None
    length = size_of(rest[-1])
    part = max(n for n in range(1, most // count + 1) if length % n == 0)
    if count * part < least or rows * every < FEW * count * part:
        return None
    if part == 1:
        return Stretches(tuple(inside), tuple(rest), count, {})
    outer, inner = new(length // part), new(part)
    moved = {rest[-1]: plus(times(Index(outer), part), Index(inner))}
    return Stretches((inner, *inside), (*rest[:-1], outer), count * part, moved)


def squared_distances(total: Reduce, expr: Expr) -> Reduce | None:
    """Within `expr`, the sum of squared distances of what `total` sums from something that is made of `total`."""
    for node in walk(expr):
        match node:
            case Reduce(op="sum", kind="float", arg=Call(op="mul", args=(Call(op="sub", args=(x, centre)) as d, same))):
                alike = d == same and x == total.arg and set(node.over) == set(total.over)
                if alike and centre.axes.isdisjoint(node.over) and total in walk(centre):
                    return node
    return None


def of_stretch(arg: Expr, cut: Stretches) -> tuple[Reduce, Reduce]:
    """Sum and squared distances of each stretch."""

    def change(node: Expr) -> Expr:
        return cut.moved.get(node.axis, node) if isinstance(node, Index) else node

    term = transform(arg, change)
    total = Reduce("sum", term, cut.inside)
    gap = Call("sub", (term, Call("mul", (total, Const(1.0 / cut.count)))))
    return total, Reduce("sum", Call("mul", (gap, gap)), cut.inside)


def of_row(totals: Expr, squares: Expr, centre: Expr, cut: Stretches) -> Reduce:
    """Squared distances of a row from `centre`, of those of its stretches."""
    gap = Call("sub", (Call("mul", (totals, Const(1.0 / cut.count))), centre))
    between = Call("mul", (Const(float(cut.count)), Call("mul", (gap, gap))))
    return Reduce("sum", Call("add", (squares, between)), cut.across)
