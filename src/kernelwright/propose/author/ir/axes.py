"""The axes that expressions run over: found by unification while a graph is read, and final in a settled expression.

Dimensions that a pointwise operation lines up are one axis, whatever their sizes, so a square tensor is never confused with
its transpose. In a settled expression every load says where it reads, and every axis is one that nothing splits any more.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from math import prod

from kernelwright.errors import ProposeError
from kernelwright.propose.author.ir.expr import (
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
from kernelwright.propose.author.ir.positions import (
    bounds,
    digits,
    evaluated,
    every,
    flattened,
    minus,
    within,
)

Dim = tuple[int, ...]
"""The axes that a dimension runs over, slowest first; empty for size one."""
Shape = tuple[Dim, ...]


class Axes:
    """Axes with their sizes, made as tensors are met and merged as operations line them up."""

    def __init__(self) -> None:
        self._size: list[int] = []
        self._bound: dict[int, Dim] = {}

    def fresh(self, sizes: Sequence[int]) -> Shape:
        """New axes for a tensor of this shape."""
        return tuple(() if n == 1 else (self._new(n),) for n in sizes)

    def single(self, size: int) -> int:
        """A new axis, of whatever length."""
        return self._new(size)

    def _new(self, size: int) -> int:
        self._size.append(size)
        return len(self._size) - 1

    def resolve(self, dim: Dim) -> Dim:
        """The dimension over axes that are bound to no others."""
        if self._bound.keys().isdisjoint(dim):
            return dim
        out: list[int] = []
        for axis in dim:
            if axis in self._bound:
                # Or chains of joins would be walked again and again.
                self._bound[axis] = self.resolve(self._bound[axis])
            out += self._bound.get(axis, (axis,))
        return tuple(out)

    def size(self, dim: Dim) -> int:
        """Elements along the dimension."""
        return prod(self._size[axis] for axis in self.resolve(dim))

    def length(self, axis: int) -> int:
        """Elements along one axis."""
        return self.size((axis,))

    def unify(self, left: Dim, right: Dim) -> None:
        """Make two dimensions the same.

        Raises:
            ProposeError: they merge axes in ways that do not line up.
        """
        left, right = self.resolve(left), self.resolve(right)
        if left == right:
            return
        if self.size(left) != self.size(right):
            raise ProposeError(f"dimensions of {self.size(left)} and {self.size(right)} elements that should be one")
        if len(left) == 1 and left[0] not in right:
            self._bound[left[0]] = right
        elif len(right) == 1 and right[0] not in left:
            self._bound[right[0]] = left
        else:
            self._refine(list(left), list(right))

    def _refine(self, left: list[int], right: list[int]) -> None:
        """Split what is longer until both dimensions have axes of the same lengths."""
        while left and right:
            a, b = left.pop(0), right.pop(0)
            if self._size[a] > self._size[b]:
                a, rest = self.split(a, self._size[a] // self._size[b])
                left.insert(0, rest)
            elif self._size[b] > self._size[a]:
                b, rest = self.split(b, self._size[b] // self._size[a])
                right.insert(0, rest)
            if self._size[a] != self._size[b]:
                raise ProposeError("two views of one tensor split it in ways that do not line up")
            self.unify((a,), (b,))

    def split(self, axis: int, inner: int) -> tuple[int, int]:
        """An axis as two, of which the second has `inner` elements.

        Raises:
            ProposeError: they do not divide it.
        """
        if self._size[axis] % inner:
            raise ProposeError("a view that splits an axis unevenly")
        pair = (self._new(self._size[axis] // inner), self._new(inner))
        self._bound[axis] = pair
        return pair

    def broadcast(self, *shapes: Shape) -> Shape:
        """The common shape of operands, lined up from the right; unifies what meets."""
        rank = max(map(len, shapes))
        padded = [((),) * (rank - len(s)) + s for s in shapes]
        out: list[Dim] = []
        for dims in zip(*padded, strict=True):
            wide = [d for d in dims if d]
            for other in wide[1:]:
                self.unify(wide[0], other)
            out.append(wide[0] if wide else ())
        return tuple(out)

    def view(self, shape: Shape, sizes: Sequence[int]) -> Shape:
        """The same elements in the same order under other sizes.

        Raises:
            ProposeError: an axis would have to be split unevenly.
        """
        left = [axis for dim in shape for axis in self.resolve(dim)]
        out: list[Dim] = []
        for size in self._complete(left, sizes):
            dim: list[int] = []
            missing = size
            while missing > 1 and left:
                axis = left.pop(0)
                if self._size[axis] > missing:
                    axis, rest = self.split(axis, self._size[axis] // missing)
                    left.insert(0, rest)
                if missing % self._size[axis]:
                    raise ProposeError("a view that splits an axis unevenly")
                missing //= self._size[axis]
                dim.append(axis)
            out.append(tuple(dim))
        return tuple(out)

    def _complete(self, axes: Sequence[int], sizes: Sequence[int]) -> list[int]:
        """Sizes with the one -1 filled in."""
        known = prod(n for n in sizes if n >= 0)
        total = prod(self._size[a] for a in axes)
        return [total // known if n < 0 else n for n in sizes]


Where = Mapping[int, Expr]
"""Positions that replace axes."""


@dataclass
class Settler:
    """Settles expressions of one graph, each once."""

    axes: Axes
    _done: dict[tuple[str, str], Expr] = field(default_factory=dict)

    def size(self, axis: int) -> int:
        """Elements along an axis."""
        return self.axes.length(axis)

    def settle(self, expr: Expr, where: Where | None = None, inside: Expr | None = None) -> Expr:
        """The expression over axes as they ended up, with positions in place of some of them.

        Nothing is read where `inside` does not hold.
        """
        where = where or {}
        free = {*self.axes.resolve(tuple(expr.axes))} if where else ()
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
