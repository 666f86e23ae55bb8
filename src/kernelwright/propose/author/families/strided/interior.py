"""Windows that lie within what they slide over: a tile of such results loads without asking whether an element exists.

A padded window of eight elements takes 64 to 72 instructions a result where each load has its mask. Along a line of results
windows move one way, so that two comparisons of one number each tell whether a tile needs masks at all; few tiles do.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple

from kernelwright.propose.author.ir.expr import Call, Const, Element, Expr, Index, conjuncts, transform, walk
from kernelwright.propose.author.ir.positions import minus, plus, times, whole


class Ends(NamedTuple):
    """What must hold of the results at both ends of a tile, so that all windows between them are whole."""

    first: tuple[Expr, ...]
    last: tuple[Expr, ...]


def whole_windows(args: Sequence[Expr], line: int, sizes: Mapping[int, int]) -> Ends | None:
    """What must hold of a tile along an axis of rows for windows to be whole, whose sides have these sizes, by axis.

    None: nothing is asked of what is reduced, or something that may fail between the ends of a window or of a tile.
    """
    reads = [n for n in walk(*args) if isinstance(n, Element) and n.inside is not None]
    asked = {c.key: c for n in reads for c in conjuncts(n.inside)}
    ends: tuple[list[Expr], list[Expr]] = ([], [])
    for condition in asked.values():
        found = _where_it_fails_first(condition, sizes)
        slope = comes_to_hold(found, line) if found is not None else None
        if found is None or slope is None:
            return None
        ends[slope < 0].append(found)
    return Ends(*map(tuple, ends)) if asked else None


def unasked(arg: Expr) -> Expr:
    """What is reduced, with loads of elements that all exist."""
    return transform(arg, lambda e: replace(e, inside=None, other=None) if isinstance(e, Element) else e)


def at_both_ends(ends: Ends, mask: str, count: int, write: Callable[[Expr, str], Sequence[str]]) -> str:
    """Whether a tile's windows are whole, and under a mask all of its rows exist; `write` writes a condition of one row."""
    texts = [f"first + ROWS <= {count}"] if mask else []
    for conditions, row in ((ends.first, "first"), (ends.last, "(first + ROWS - 1)")):
        for condition in conditions:
            texts += write(condition, row)
    return all_of(texts)


def all_of(texts: Sequence[str]) -> str:
    """Conditions of one number as one."""
    return texts[0] if len(texts) == 1 else " & ".join(f"({text})" for text in texts)


def _where_it_fails_first(condition: Expr, sizes: Mapping[int, int]) -> Expr | None:
    """A condition at the step of a window where it fails first; None: that may be another than the first or the last."""
    for axis in condition.axes & set(sizes):
        slope = comes_to_hold(condition, axis)
        if slope is None:
            return None
        condition = _at(condition, axis, 0 if slope > 0 else sizes[axis] - 1)
    return condition


def comes_to_hold(condition: Expr, axis: int) -> int | None:
    """Above zero where a comparison that held once along an axis holds from there on, below zero where it held until then.

    None: nobody can tell.
    """
    if axis not in condition.axes:
        return 1
    if not isinstance(condition, Call) or condition.op not in ("ge", "lt"):
        return None
    left, right = (_slope(arg, axis) for arg in condition.args)
    if left is None or right is None:
        return None
    return left - right if condition.op == "ge" else right - left


def _slope(position: Expr, axis: int) -> int | None:
    """By how much a position changes from each step to the next; None: not by the same everywhere."""
    if axis not in position.axes:
        return 0
    match position:
        case Index():
            return 1
        case Call(op="add" | "sub", args=(one, other)):
            slopes = _slope(one, axis), _slope(other, axis)
            sign = 1 if position.op == "add" else -1
            return None if slopes[0] is None or slopes[1] is None else slopes[0] + sign * slopes[1]
        case Call(op="mul", args=(one, Const(value=factor))):
            slope = _slope(one, axis)
            return None if slope is None else slope * int(factor)
    return None


def _at(condition: Expr, axis: int, step: int) -> Expr:
    return transform(condition, lambda e: whole(step) if e == Index(axis) else _folded(e))


def _folded(position: Expr) -> Expr:
    match position:
        case Call(op="mul", args=(one, Const(value=factor))):
            return times(one, int(factor))
        case Call(op="add", args=(one, other)):
            return plus(one, other)
        case Call(op="sub", args=(Call(op="add", args=(one, Const(value=more))), Const(value=less))):
            return plus(one, whole(int(more - less)))
        case Call(op="sub", args=(one, other)):
            return minus(one, other)
    return position
