"""The workbench on which operations are written: axes, values with shapes, and one operation's arguments.

Which dimensions of which tensors are the same axis is found by unification: dimensions that a pointwise operation lines
up are one axis, whatever their sizes, so a square tensor is never confused with its transpose. A dimension that a view
merged is a list of axes. ATen's names are unknown here.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from math import prod

from kernelwright.errors import ProposeError
from kernelwright.propose.author.plan.expr import At, Call, Combine, Const, Count, Expr, Index, Kind, Load, Reduce
from kernelwright.propose.author.plan.positions import flattened, quotient, remainder
from kernelwright.records.graph import Infinity, OpNode, Ref
from kernelwright.records.graph import Value as Literal
from kernelwright.records.tensor import TensorSpec

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
        out: list[int] = []
        for axis in dim:
            out += self.resolve(self._bound[axis]) if axis in self._bound else [axis]
        return tuple(out)

    def size(self, dim: Dim) -> int:
        """Elements along the dimension."""
        return prod(self._size[axis] for axis in self.resolve(dim))

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


BOOLEAN = frozenset({"eq", "ne", "lt", "le", "gt", "ge", "and", "or", "not"})
"""Calls whose result is a truth value."""
WHOLE = frozenset({"add", "sub", "mul", "max", "min", "neg", "abs", "quotient", "remainder"})
"""Calls that give integers for integers."""


WITHOUT_NAN: dict[Combine, Combine] = {"amax": "max", "amin": "min"}


@dataclass(frozen=True)
class Value:
    """An expression and the shape that it has as a tensor."""

    expr: Expr
    shape: Shape


Operand = Value | float | int | bool


class Builder:
    """Makes values out of values."""

    def __init__(self, *, float8: bool = False) -> None:
        self.axes = Axes()
        self.float8 = float8
        """Whether the target rounds to eight bits in one instruction."""

    def tensor(self, spec: TensorSpec) -> Value:
        """A tensor argument.

        Raises:
            ProposeError: a dtype that is not written.
        """
        shape = self.axes.fresh(spec.shape)
        along = tuple(axis for dim in shape for axis in dim)
        return Value(Load(spec.name, along, _kind(spec)), shape)

    def value(self, operand: Operand) -> Value:
        """The operand as a value; numbers become literals."""
        if isinstance(operand, Value):
            return operand
        kind: Kind = "bool" if isinstance(operand, bool) else "int" if isinstance(operand, int) else "float"
        return Value(Const(float(operand), kind), ())

    def call(self, op: str, *operands: Operand) -> Value:
        """A pointwise operation with broadcasting. Arithmetic keeps integers, and turns truths into floats."""
        values, shape = self.aligned([self.value(o) for o in operands])
        exprs = [v.expr for v in values]
        if op == "where":
            exprs[1:] = _alike(exprs[1:])
            return Value(Call(op, tuple(exprs), exprs[1].kind), shape)
        if op in ("and", "or", "not"):
            return Value(Call(op, tuple(exprs), "bool"), shape)
        if op in WHOLE and all(e.kind == "int" for e in exprs):
            return Value(Call(op, tuple(exprs), "int"), shape)
        exprs = _alike(exprs) if op in BOOLEAN else [as_float(e) for e in exprs]
        return Value(Call(op, tuple(exprs), "bool" if op in BOOLEAN else "float"), shape)

    def aligned(self, values: Sequence[Value]) -> tuple[list[Value], Shape]:
        """The operands of a pointwise operation, and its shape.

        One of two that run over the same axes in different places, as a tensor and its transpose do, is given axes of
        its own; so is one that would come to run over an axis that another one reduces.
        """
        out: list[Value] = []
        places: dict[int, tuple[int, int]] = {}
        for value in values:
            here = dict(self._places(value.shape))
            if len(here) < len(self._places(value.shape)) or any(places.get(a, p) != p for a, p in here.items()):
                value = self.renamed(value)
                here = dict(self._places(value.shape))
            places |= here
            out.append(value)
        out = self._uncaptured(out)
        return out, self.axes.broadcast(*(v.shape for v in out))

    def _uncaptured(self, values: list[Value]) -> list[Value]:
        for number, value in enumerate(values):
            mine = {place: axis for axis, place in self._places(value.shape)}
            for other in values:
                bound = self.axes.resolve(tuple(other.expr.bound)) if other.expr.bound else ()
                theirs = {place: axis for axis, place in self._places(other.shape)}
                if any(axis in bound and theirs.get(place, axis) != axis for place, axis in mine.items()):
                    values[number] = self.renamed(value)
        return values

    def _places(self, shape: Shape) -> list[tuple[int, tuple[int, int]]]:
        """Each axis with its dimension, counted from the last, and its stride there."""
        found: list[tuple[int, tuple[int, int]]] = []
        for place, dim in enumerate(reversed(shape)):
            stride = 1
            for axis in reversed(self.axes.resolve(dim)):
                found.append((axis, (place, stride)))
                stride *= self.axes.size((axis,))
        return found

    def renamed(self, value: Value) -> Value:
        """The same tensor over axes of its own."""
        out = value
        for place, dim in enumerate(value.shape):
            if dim:
                new = self.axes.fresh([self.axes.size(dim)])[0]
                out = self.pick(out, place, self.position(new), new)
        return out

    def position(self, dim: Dim) -> Expr:
        """Where along a dimension an element lies."""
        return flattened([Index(axis) for axis in dim], [self.axes.size((axis,)) for axis in dim])

    def pick(self, value: Value, dim: int, index: Expr, new: Dim, inside: Expr | None = None) -> Value:
        """`value` along `dim` at a position that is an expression over `new` axes, among others; read where `inside`."""
        dim %= len(value.shape)
        expr = value.expr
        axes = self.axes.resolve(value.shape[dim])
        for number, axis in enumerate(reversed(axes)):
            size = self.axes.size((axis,))
            digit = index if number == len(axes) - 1 else remainder(index, size)
            expr = At(expr, digit, axis, inside)
            index = quotient(index, size)
        return Value(expr, (*value.shape[:dim], new, *value.shape[dim + 1 :]))

    def reduce(self, op: Combine, value: Value, dims: Sequence[int] | None, keep: bool) -> Value:
        """A reduction over dimensions; None or none at all means all of them."""
        rank = len(value.shape)
        chosen = {d % rank for d in dims} if dims else set(range(rank))
        over = tuple(axis for d in sorted(chosen) for axis in value.shape[d])
        shape = tuple(() if d in chosen else dim for d, dim in enumerate(value.shape) if keep or d not in chosen)
        expr = value.expr if value.expr.kind == "int" else as_float(value.expr)
        op = WITHOUT_NAN.get(op, op) if expr.kind == "int" else op
        return Value(Reduce(op, expr, over, expr.kind) if over else expr, shape)

    def count(self, value: Value, dims: Sequence[int] | None) -> Value:
        """How many elements `reduce` over the same dimensions takes in."""
        rank = len(value.shape)
        chosen = {d % rank for d in dims} if dims else set(range(rank))
        over = tuple(axis for d in sorted(chosen) for axis in value.shape[d])
        return Value(Count(over) if over else Const(1.0), ())

    def mean(self, value: Value, dims: Sequence[int] | None, keep: bool) -> Value:
        """Sum over count."""
        return self.call("div", self.reduce("sum", value, dims, keep), self.count(value, dims))

    def at(self, value: Value, dim: int, index: Value) -> Value:
        """`value` along `dim` at positions that are data; the other dimensions of the two line up.

        Raises:
            ProposeError: their ranks differ.
        """
        dim %= len(value.shape)
        axis = self.axes.resolve(value.shape[dim])
        if len(index.shape) != len(value.shape):
            raise ProposeError("a gather by an index of another rank")
        if len(axis) == 1 and not index.shape[dim]:
            rest = (*value.shape[:dim], (), *value.shape[dim + 1 :])
            return Value(At(value.expr, index.expr, axis[0]), self.axes.broadcast(rest, index.shape))
        if set(axis) & set(self.axes.resolve(index.shape[dim])):
            value = self.renamed(value)
        for place, wanted in enumerate(index.shape):
            if place != dim and wanted and self.axes.size(wanted) != self.axes.size(value.shape[place]):
                value = self.pick(value, place, self.position(wanted), wanted)
        picked = self.pick(value, dim, index.expr, index.shape[dim])
        return Value(picked.expr, self.axes.broadcast(picked.shape, index.shape))

    def reshaped(self, value: Value, shape: Sequence[Dim]) -> Value:
        """The same expression as a tensor of another shape."""
        return Value(value.expr, tuple(shape))


def as_float(expr: Expr) -> Expr:
    """The expression as a float."""
    if expr.kind == "float":
        return expr
    return Const(expr.value) if isinstance(expr, Const) else Call("float", (expr,))


def _alike(exprs: list[Expr]) -> list[Expr]:
    """Operands that are compared or selected, of one kind."""
    if any(e.kind == "float" for e in exprs):
        return [as_float(e) for e in exprs]
    if any(e.kind == "int" for e in exprs):
        return [Const(e.value, "int") if isinstance(e, Const) else e for e in exprs]
    return exprs


def _kind(spec: TensorSpec) -> Kind:
    if spec.dtype in ("float32", "float16", "bfloat16"):
        return "float"
    if spec.dtype == "bool":
        return "bool"
    if spec.dtype != "float64":
        return "int"
    raise ProposeError(
        f"{spec.name!r} is {spec.dtype}: the author writes float32, float16 and bfloat16 data, integers, and bool masks"
    )


Result = Value | tuple[Value | None, ...]
"""What an operation gives: a value, or several of which some may not be written."""


@dataclass(frozen=True)
class Arguments:
    """One node's arguments, with references resolved to values."""

    node: OpNode
    values: Mapping[str, Result]
    changed: dict[str, Value] = field(default_factory=dict)
    """New values of tensors that the operation writes to beside its results, by their names."""

    def becomes(self, name: str, value: Value) -> None:
        """Say what the operation writes to one of its arguments."""
        found = self.raw(name)
        if isinstance(found, Ref):
            self.changed[found.ref] = value

    def raw(self, name: str) -> Literal:
        """The argument as it stands in the graph; None when it was left out."""
        return self.node.argument(name)

    def operand(self, name: str, default: float | int | bool | None = None) -> Operand:
        """A tensor or a number.

        Raises:
            ProposeError: it is neither.
        """
        found = self.raw(name)
        if found is None and default is not None:
            return default
        if isinstance(found, Ref):
            return self._referred(found)
        if isinstance(found, Infinity):
            return float("inf") * found.infinity
        if isinstance(found, bool | int | float):
            return found
        raise ProposeError(f"argument {name!r} of {self.node.op} is {found!r}")

    def tensor(self, name: str) -> Value:
        """A tensor.

        Raises:
            ProposeError: it is something else.
        """
        found = self.operand(name)
        if not isinstance(found, Value):
            raise ProposeError(f"argument {name!r} of {self.node.op} is the number {found!r}, not a tensor")
        return found

    def subject(self) -> Value:
        """The tensor that the operation is about, which ATen calls `self` or `input`."""
        return self.tensor("input" if self.raw("self") is None else "self")

    def optional(self, name: str) -> Value | None:
        """A tensor, or None when the call has none."""
        return None if self.raw(name) is None else self.tensor(name)

    def tensors(self, name: str) -> tuple[Value, ...]:
        """A list of tensors."""
        found = self.raw(name)
        items = found if isinstance(found, tuple) else (found,)
        return tuple(self._referred(item) for item in items if isinstance(item, Ref))

    def number(self, name: str, default: float) -> float:
        """A number.

        Raises:
            ProposeError: it is a tensor.
        """
        found = self.operand(name, default)
        if isinstance(found, Value):
            raise ProposeError(f"argument {name!r} of {self.node.op} is a tensor, not a number")
        return float(found)

    def flag(self, name: str, default: bool = False) -> bool:
        """A truth value."""
        return bool(self.number(name, default))

    def dims(self, name: str) -> tuple[int, ...] | None:
        """A list of dimensions; None when the call has none."""
        found = self.raw(name)
        if isinstance(found, tuple):
            return tuple(int(d) for d in found if isinstance(d, int))
        return (found,) if isinstance(found, int) else None

    def results(self) -> Result:
        """Whatever the first reference gives, several results included."""
        return next(self.values[v.value.ref] for v in self.node.arguments if isinstance(v.value, Ref))

    def _referred(self, ref: Ref) -> Value:
        found = self.values[ref.ref]
        if not isinstance(found, Value):
            raise ProposeError(f"{self.node.op} takes all results of {ref.ref!r} at once")
        return found


Rule = Callable[[Builder, Arguments], Result]
"""How one ATen overload is written."""
