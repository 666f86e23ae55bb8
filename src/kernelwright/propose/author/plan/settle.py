"""Expressions in their final form: every load says where it reads, and every axis is one that nothing splits any more."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from kernelwright.errors import ProposeError
from kernelwright.propose.author.plan.builder import Axes
from kernelwright.propose.author.plan.expr import (
    At,
    Call,
    Const,
    Count,
    Element,
    Expr,
    Index,
    Load,
    Reduce,
    Scan,
    rebuild,
)
from kernelwright.propose.author.plan.positions import bounds, digits, evaluated, every, flattened, minus, within

Where = Mapping[int, Expr]
"""Positions that replace axes."""


@dataclass
class Settler:
    """Settles expressions of one graph, each once."""

    axes: Axes
    _done: dict[tuple[str, str], Expr] = field(default_factory=dict)

    def size(self, axis: int) -> int:
        """Elements along an axis."""
        return self.axes.size((axis,))

    def settle(self, expr: Expr, where: Where | None = None, inside: Expr | None = None) -> Expr:
        """The expression over axes as they ended up, with positions in place of some of them.

        Nothing is read where `inside` does not hold.
        """
        where = where or {}
        free = {axis for old in expr.axes for axis in self.axes.resolve((old,))}
        where = {axis: position for axis, position in where.items() if axis in free}
        spelled = repr(sorted((axis, position.key) for axis, position in where.items()))
        key = (expr.key, spelled + (inside.key if inside else ""))
        if key not in self._done:
            self._done[key] = self._settled(expr, where, inside)
        return self._done[key]

    def _settled(self, expr: Expr, where: Where, inside: Expr | None) -> Expr:
        match expr:
            case Load():
                axes = self.axes.resolve(expr.along)
                index = tuple(where.get(a, Index(a)) for a in axes)
                return Element(expr.name, tuple(self.size(a) for a in axes), index, expr.kind, inside)
            case Index():
                axes = self.axes.resolve((expr.axis,))
                return flattened([where.get(a, Index(a)) for a in axes], [self.size(a) for a in axes])
            case Count():
                return Const(float(self.axes.size(expr.over)))
            case At():
                return self._at(expr, where, inside)
            case Reduce():
                return self._reduced(expr, where, inside)
            case Scan():
                return self._scanned(expr, where, inside)
            case Call(op="sub", kind="int", args=(left, right)):
                return minus(self.settle(left, where, inside), self.settle(right, where, inside))
        return rebuild(expr, tuple(self.settle(child, where, inside) for child in expr.children))

    def _at(self, expr: At, where: Where, inside: Expr | None) -> Expr:
        index = self.settle(expr.index, where, inside)
        given = None if expr.inside is None else self.settle(expr.inside, where, inside)
        axes = self.axes.resolve((expr.axis,))
        sizes = [self.size(a) for a in axes]
        data = bounds(index, self.size) is None
        there = within(index, self.axes.size(axes), self.size) if data else None
        inner = {**where, **dict(zip(axes, digits(index, sizes), strict=True))}
        found = self.settle(expr.arg, inner, every((inside, given, there)))
        if there is None:
            return found
        missing = Const(float("nan")) if found.kind == "float" else Const(0.0, found.kind)
        return Call("where", (there, found, missing), found.kind)

    def _reduced(self, expr: Reduce, where: Where, inside: Expr | None) -> Expr:
        over = self.axes.resolve(expr.over)
        inner = {axis: position for axis, position in where.items() if axis not in over}
        outer = frozenset().union(*(p.axes for p in inner.values()), inside.axes if inside else ())
        if outer & set(over):
            fresh = tuple(self.axes.fresh([self.size(a)])[0][0] for a in over)
            inner |= {old: Index(new) for old, new in zip(over, fresh, strict=True)}
            over = fresh
        arg = self.settle(expr.arg, inner, inside)
        kept = tuple(a for a in over if a in arg.axes)
        missing = [a for a in over if a not in arg.axes]
        if missing and expr.op == "prod":
            raise ProposeError("a product of equal factors")
        out: Expr = Reduce(expr.op, arg, kept, expr.kind) if kept else arg
        if missing and expr.op == "sum":
            out = Call("mul", (out, Const(float(self.axes.size(tuple(missing))), out.kind)), out.kind)
        return out

    def _scanned(self, expr: Scan, where: Where, inside: Expr | None) -> Expr:
        (axis,) = self.axes.resolve((expr.axis,))
        position = where.get(axis)
        if position is None:
            if inside is not None and axis in inside.axes:
                raise ProposeError("a part of a scan that is not stored")
            return Scan(expr.op, self.settle(expr.arg, where, inside), axis, expr.reverse, expr.wide, expr.kind)
        return self._moved(expr, axis, position, where, inside)

    def _moved(self, expr: Scan, axis: int, position: Expr, where: Where, inside: Expr | None) -> Expr:
        """A scan that is read shifted, cut or backwards, as a scan over the places where it is read."""
        new = next(iter(position.axes)) if len(position.axes) == 1 else axis
        first, second = (evaluated(position, {new: at}) for at in (0, 1))
        size, room = self.size(axis), self.size(new)
        if first is None or second is None or abs(second - first) != 1 or expr.op not in EMPTY:
            raise ProposeError("a part of a scan that is not stored")
        backwards = second < first
        ends = (first - room + 1, first) if backwards else (first, first + room - 1)
        if (ends[1] < size - 1) if expr.reverse else (ends[0] > 0):
            raise ProposeError("a scan that is read from its middle on")
        there = within(position, size, self.size)
        arg = self.settle(expr.arg, where, every((there,)))
        if there is not None:
            arg = Call("where", (there, arg, Const(EMPTY[expr.op], arg.kind)), arg.kind)
        return Scan(expr.op, arg, new, expr.reverse != backwards, expr.wide, expr.kind)


EMPTY = {"sum": 0.0, "prod": 1.0}
"""What changes nothing."""
