"""Whole-number arithmetic on positions: folded where it can be, with bounds that save conditions."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

from kernelwright.propose.author.ir.expr import Call, Const, Expr, Index

SizeOf = Callable[[int], int]
"""Elements along an axis."""
Bounds = tuple[int, int]


def whole(number: int) -> Const:
    """A literal."""
    return Const(float(number), "int")


def plus(left: Expr, right: Expr) -> Expr:
    """The sum."""
    if isinstance(left, Const) and isinstance(right, Const):
        return whole(int(left.value + right.value))
    if isinstance(left, Const):
        left, right = right, left
    if isinstance(right, Const) and right.value == 0:
        return left
    if isinstance(right, Const) and right.value < 0:
        return Call("sub", (left, whole(-int(right.value))), "int")
    return Call("add", (left, right), "int")


def minus(left: Expr, right: Expr) -> Expr:
    """The difference. What is turned round twice is as it was, so that a compiler sees elements that lie together."""
    if isinstance(right, Const):
        return plus(left, whole(-int(right.value)))
    match left, right:
        case Const(value=end), Call(op="sub", args=(Const(value=start), position)):
            return plus(position, whole(int(end - start)))
    return Call("sub", (left, right), "int")


def times(left: Expr, factor: int) -> Expr:
    """The product with a number."""
    if isinstance(left, Const):
        return whole(int(left.value) * factor)
    return left if factor == 1 else Call("mul", (left, whole(factor)), "int")


def quotient(left: Expr, divisor: int) -> Expr:
    """The quotient, rounded towards zero."""
    if isinstance(left, Const):
        return whole(int(int(left.value) / divisor))
    return left if divisor == 1 else Call("quotient", (left, whole(divisor)), "int")


def remainder(left: Expr, divisor: int) -> Expr:
    """What is left of a division; not negative where the operand is not."""
    if divisor == 1:
        return whole(0)
    return Call("remainder", (left, whole(divisor)), "int")


def total(terms: Sequence[Expr]) -> Expr:
    """The sum of all."""
    out: Expr = whole(0)
    for term in terms:
        out = plus(out, term)
    return out


def every(conditions: Sequence[Expr | None]) -> Expr | None:
    """All conditions at once; None where nothing needs to hold."""
    out: Expr | None = None
    for condition in conditions:
        if condition is not None and condition != out:
            out = condition if out is None else Call("and", (out, condition), "bool")
    return out


def within(position: Expr, size: int, size_of: SizeOf) -> Expr | None:
    """That 0 <= position < size; None where it always holds."""
    low, high = bounds(position, size_of) or (-1, size)
    above = None if low >= 0 else Call("ge", (position, whole(0)), "bool")
    below = None if high < size else Call("lt", (position, whole(size)), "bool")
    return every((above, below))


def bounds(position: Expr, size_of: SizeOf) -> Bounds | None:
    """The least and the greatest value; None where the data decides."""
    if isinstance(position, Const):
        return int(position.value), int(position.value)
    if isinstance(position, Index):
        return 0, size_of(position.axis) - 1
    if not isinstance(position, Call) or position.op not in _BOUNDS:
        return None
    operands = [bounds(arg, size_of) for arg in position.args]
    known = [found for found in operands if found is not None]
    if len(known) < len(operands):
        return None
    return _BOUNDS[position.op](known[0], known[-1])


def _product(left: Bounds, right: Bounds) -> Bounds:
    corners = [a * b for a in left for b in right]
    return min(corners), max(corners)


_BOUNDS: dict[str, Callable[[Bounds, Bounds], Bounds]] = {
    "add": lambda a, b: (a[0] + b[0], a[1] + b[1]),
    "sub": lambda a, b: (a[0] - b[1], a[1] - b[0]),
    "mul": _product,
    "quotient": lambda a, b: (int(a[0] / b[0]), int(a[1] / b[0])),
    "max": lambda a, b: (max(a[0], b[0]), max(a[1], b[1])),
    "min": lambda a, b: (min(a[0], b[0]), min(a[1], b[1])),
    "abs": lambda a, _: (0 if a[0] <= 0 <= a[1] else min(map(abs, a)), max(map(abs, a))),
    "remainder": lambda a, b: (0 if a[0] >= 0 else 1 - b[0], b[0] - 1),
}


def digits(position: Expr, sizes: Sequence[int]) -> list[Expr]:
    """A position in the product of several extents as one position in each, slowest first."""
    out: list[Expr] = []
    rest = position
    for number, size in enumerate(reversed(sizes)):
        last = number == len(sizes) - 1
        out.append(rest if last else remainder(rest, size))
        rest = quotient(rest, size)
    return out[::-1]


def flattened(index: Sequence[Expr], sizes: Sequence[int]) -> Expr:
    """Positions in several extents as one, row-major: the offset in elements."""
    stride, terms = 1, []
    for position, size in zip(reversed(index), reversed(sizes), strict=True):
        terms.append(times(position, stride))
        stride *= size
    return total(terms[::-1])


def terms(position: Expr, factor: int = 1) -> list[tuple[Expr, int]]:
    """What a position is the sum of, each with the number that it is multiplied by."""
    match position:
        case Call(op="add", args=(left, right)):
            return [*terms(left, factor), *terms(right, factor)]
        case Call(op="sub", args=(left, right)):
            return [*terms(left, factor), *terms(right, -factor)]
        case Call(op="mul", args=(left, Const(value=number))):
            return terms(left, factor * int(number))
        case Call(op="int64", args=(narrow,)):
            return [(e if isinstance(e, Const) else replace(position, args=(e,)), n) for e, n in terms(narrow, factor)]
    return [(position, factor)]


def apart(position: Expr, axes: frozenset[int]) -> tuple[Expr, Expr]:
    """A position as what hangs on these axes alone, and what is to be added to it."""
    alone, rest = list[Expr](), list[Expr]()
    for term, factor in terms(position):
        (alone if term.axes <= axes else rest).append(times(term, factor))
    return total(alone), total(rest)


def evaluated(position: Expr, at: Mapping[int, int]) -> int | None:
    """The position with axes at these places, and others at zero."""
    match position:
        case Const():
            return int(position.value)
        case Index():
            return at.get(position.axis, 0)
        case Call() if position.kind == "int":
            operands = [evaluated(arg, at) for arg in position.args]
            known = [n for n in operands if n is not None]
            if len(known) < len(operands):
                return None
            return _calculated(position.op, known)
    return None


def _calculated(op: str, operands: Sequence[int]) -> int | None:
    left, right = operands[0], operands[-1]
    match op:
        case "add":
            return left + right
        case "sub":
            return left - right
        case "mul":
            return left * right
        case "quotient":
            return int(left / right)
        case "remainder":
            return left % right
    return None
