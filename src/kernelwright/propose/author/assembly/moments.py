"""Sum and squared distances of long rows from one reading of them.

A row is cut into stretches that one program holds. Each leaves its sum and its squared distances from its own mean, of which
those of the row are made: Chan, Golub and LeVeque 1983, "Algorithms for computing the sample variance", section 2.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import prod

from kernelwright.propose.author.assembly.shares import at_position
from kernelwright.propose.author.families.strided.plan import FEW
from kernelwright.propose.author.plan.expr import Call, Const, Expr, Index, Reduce, walk
from kernelwright.propose.author.plan.positions import plus, times, whole, within

LEAST, HELD = 2048, 16384
"""Elements of a stretch, at least (or half of it, where no other length suits) and at most.

A program of sixteen warps has 32 of the most in each thread's registers.
"""
LEAST_APART, HELD_APART = 64, 128
"""The same where a stretch's elements lie apart, and a program holds those of many rows beside each other."""
PROGRAMS = 1024
"""Stretches that keep a device busy."""
MOST_TOGETHER, GROUPS = 4096, 256
"""Stretches of a row that one program puts together at most, and into how many groups more than these are put first."""


@dataclass(frozen=True)
class Stretches:
    """How rows are cut."""

    inside: tuple[int, ...]
    """Axes of a stretch."""
    across: tuple[int, ...]
    """Axes over the stretches of a row."""
    count: Expr
    """Elements of a stretch: the last one along an axis may be shorter."""
    cut: tuple[tuple[int, Expr], ...] = ()
    """Axes that are cut, with the positions along them."""
    holds: Expr | None = None
    """Where these positions exist; None: everywhere."""


def stretches(
    over: Sequence[int], rows: int, dense: bool, size_of: Callable[[int], int], new: Callable[[int], int]
) -> Stretches | None:
    """Stretches of so many rows over these axes, slowest first; None where none are long enough.

    They are of equal length where the axis that is cut has such a divisor; else the last one is shorter.

    `dense` says whether neighbours in a row lie together. `new` makes an axis of a length.
    """
    every = prod(map(size_of, over))
    enough, held = (LEAST, HELD) if dense else (LEAST_APART, HELD_APART)
    least, most = enough // 2, min(held, max(enough, rows * every // PROGRAMS))
    rest, inside, count = list(over), list[int](), 1
    while rest and count * size_of(rest[-1]) <= most:
        count *= size_of(rest[-1])
        inside.insert(0, rest.pop())
    if not rest:
        return None
    length = size_of(rest[-1])
    part = _part(length, most // count, -(-least // count))
    if count * part < least or rows * every < FEW * count * part:
        return None
    if part == 1:
        return Stretches(tuple(inside), tuple(rest), Const(float(count)))
    outer, inner = new(-(-length // part)), new(part)
    at = plus(times(Index(outer), part), Index(inner))
    holds = within(at, length, size_of)
    elements = Const(float(count * part)) if holds is None else left_of(length, outer, part, count)
    return Stretches((inner, *inside), (*rest[:-1], outer), elements, ((rest[-1], at),), holds)


def left_of(length: int, outer: int, part: int, count: int = 1) -> Expr:
    """Elements of a part of a length, of so many each: the last part is shorter."""
    left = Call("min", (whole(part), plus(whole(length), times(Index(outer), -part))), "int")
    return Call("float", (times(left, count),))


def _part(length: int, most: int, least: int) -> int:
    """Into what an axis is cut: its largest divisor, if that is long enough, else as many parts as must be."""
    divisor = max(n for n in range(1, most + 1) if length % n == 0)
    return divisor if divisor >= least or most < least else -(-length // -(-length // most))


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
    term = at_stretch(arg, cut)
    total = Reduce("sum", _where(cut.holds, term), cut.inside)
    gap = Call("sub", (term, _mean(total, cut)))
    return total, Reduce("sum", _where(cut.holds, Call("mul", (gap, gap))), cut.inside)


def at_stretch(expr: Expr, cut: Stretches) -> Expr:
    """An expression at the positions of a stretch, where they exist."""
    for number, (axis, position) in enumerate(cut.cut, 1):
        expr = at_position(expr, axis, position, cut.holds if number == len(cut.cut) else None)
    return expr


def _where(holds: Expr | None, term: Expr) -> Expr:
    return term if holds is None else Call("where", (holds, term, Const(0.0)))


def _mean(total: Expr, cut: Stretches) -> Expr:
    match cut.count:
        case Const(value=count):
            return Call("mul", (total, Const(1.0 / count)))
    return Call("div", (total, cut.count))


def of_row(totals: Expr, squares: Expr, centre: Expr, cut: Stretches) -> Reduce:
    """Squared distances of a row from `centre`, of those of its stretches."""
    gap = Call("sub", (_mean(totals, cut), centre))
    between = Call("mul", (cut.count, Call("mul", (gap, gap))))
    return Reduce("sum", Call("add", (squares, between)), cut.across)


def grouped(cut: Stretches, rows: int, size_of: Callable[[int], int]) -> tuple[int, ...]:
    """Over which axes the stretches of few rows are put together first, where each row has many; none elsewhere."""
    rest = cut.across
    if rows >= FEW or prod(map(size_of, rest)) <= MOST_TOGETHER:
        return ()
    while rest == cut.across or prod(map(size_of, rest)) > GROUPS:
        rest = rest[:-1]
    return cut.across[len(rest) :] if rest else ()


def of_group(totals: Expr, squares: Expr, count: int, cut: Stretches) -> tuple[Reduce, Reduce]:
    """Sum and squared distances of so many elements, of those of the stretches that make them up."""
    total = Reduce("sum", totals, cut.across)
    return total, of_row(totals, squares, Call("mul", (total, Const(1.0 / count))), cut)
