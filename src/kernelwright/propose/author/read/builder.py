"""The workbench on which operations are written: values with shapes, one operation's arguments, and casts.

A dimension that a view merged is a list of axes. ATen's names are unknown here.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from inspect import signature

from kernelwright.errors import ProposeError
from kernelwright.propose.author.ir.axes import Axes, Dim, Shape
from kernelwright.propose.author.ir.expr import At, Call, Combine, Const, Count, Expr, Index, Kind, Load, Reduce, Scan
from kernelwright.propose.author.ir.positions import bounds, flattened, quotient, remainder
from kernelwright.records.graph import Infinity, OpNode, Ref
from kernelwright.records.graph import Value as Literal
from kernelwright.records.tensor import TensorSpec

BOOLEAN = frozenset({"eq", "ne", "lt", "le", "gt", "ge", "and", "or", "not"})
"""Calls whose result is a truth value."""
WHOLE = frozenset({"add", "sub", "mul", "max", "min", "neg", "abs", "quotient", "remainder"})
"""Calls that give integers for integers."""


WITHOUT_NAN: dict[Combine, Combine] = {"amax": "max", "amin": "min"}


def _operator(op: str, *, turned: bool = False) -> "Callable[[Value, Operand], Value]":
    """Arithmetic and comparisons of values; `turned`: with the other operand in front."""
    if turned:
        return lambda value, other: value.b.call(op, other, value)
    return lambda value, other: value.b.call(op, value, other)


@dataclass(frozen=True)
class Value:
    """An expression and the shape that it has as a tensor, with the operators of pointwise arithmetic and comparisons."""

    expr: Expr
    shape: Shape
    b: "Builder"

    __add__, __radd__ = _operator("add"), _operator("add", turned=True)
    __sub__, __rsub__ = _operator("sub"), _operator("sub", turned=True)
    __mul__, __rmul__ = _operator("mul"), _operator("mul", turned=True)
    __truediv__, __rtruediv__ = _operator("div"), _operator("div", turned=True)
    __lt__, __le__, __gt__, __ge__ = _operator("lt"), _operator("le"), _operator("gt"), _operator("ge")

    def __neg__(self) -> "Value":
        return self.b.call("neg", self)

    def with_expr(self, expr: Expr) -> "Value":
        """Another expression as a tensor of the same shape."""
        return self.b.new(expr, self.shape)

    def shaped(self, shape: Iterable[Dim]) -> "Value":
        """The same expression as a tensor of another shape."""
        return self.b.new(self.expr, shape)

    def spliced(self, dim: int, *dims: Dim) -> "Value":
        """The same expression with any number of dimensions in place of one."""
        dim %= len(self.shape)
        return self.shaped((*self.shape[:dim], *dims, *self.shape[dim + 1 :]))

    def merged(self, first: int, count: int = 2) -> "Value":
        """The same expression with so many dimensions from `first` on as one."""
        first %= len(self.shape)
        joined = tuple(axis for dim in self.shape[first : first + count] for axis in dim)
        return self.shaped((*self.shape[:first], joined, *self.shape[first + count :]))

    @property
    def floating(self) -> "Value":
        """The value as a float."""
        return self.with_expr(as_float(self.expr))

    def where(self, condition: Expr | None, fill: float = 0.0) -> "Value":
        """The value where a condition on positions holds, and a number elsewhere; None: it always holds."""
        if condition is None:
            return self
        kind = self.expr.kind
        return self.with_expr(Call("where", (condition, self.expr, Const(fill, kind)), kind))

    def size(self, dim: int) -> int:
        """Elements along a dimension."""
        return self.b.axes.size(self.shape[dim])

    def chosen(self, dims: Sequence[int] | None) -> list[int]:
        """Dimensions in order, each from the first; None or none at all means all of them."""
        rank = len(self.shape)
        return sorted({d % rank for d in dims} if dims else range(rank))


Operand = Value | float | int | bool
FLOAT8 = ("float8_e4m3fn", "float8_e5m2")
FLOATS = ("float32", "float16", "bfloat16")
OPAQUE = ("complex64", "complex128", "float64", *FLOAT8)
"""Types of tensors that no expression reads: they are handed to PyTorch's operations as they are."""


class Builder:
    """Makes values out of values."""

    def __init__(self, *, rounds: Sequence[str] = (), opaque: Sequence[str] = OPAQUE) -> None:
        self.axes = Axes()
        self.rounds, self.opaque = rounds, opaque
        """Types of eight bits that the target rounds to, and types that no expression reads."""

    def new(self, expr: Expr, shape: Iterable[Dim]) -> Value:
        """An expression as a tensor of a shape."""
        return Value(expr, tuple(shape), self)

    def tensor(self, spec: TensorSpec) -> Value:
        """A tensor argument.

        Raises:
            ProposeError: a dtype that is not written.
        """
        shape = self.axes.fresh(spec.shape)
        along = tuple(axis for dim in shape for axis in dim)
        kind = "int" if spec.dtype in self.opaque else kind_of(spec)
        return self.new(Load(spec.name, along, kind), shape)

    def value(self, operand: Operand) -> Value:
        """The operand as a value; numbers become literals."""
        if isinstance(operand, Value):
            return operand
        kind: Kind = "bool" if isinstance(operand, bool) else "int" if isinstance(operand, int) else "float"
        return self.new(Const(float(operand), kind), ())

    def call(self, op: str, *operands: Operand) -> Value:
        """A pointwise operation with broadcasting. Arithmetic keeps integers, and turns truths into floats."""
        values, shape = self.aligned([self.value(o) for o in operands])
        exprs = [v.expr for v in values]
        if op == "where":
            exprs[1:] = _alike(exprs[1:])
            return self.new(Call(op, tuple(exprs), exprs[1].kind), shape)
        if op in ("and", "or", "not"):
            return self.new(Call(op, tuple(exprs), "bool"), shape)
        if op in WHOLE and all(e.kind == "int" for e in exprs):
            return self.new(Call(op, tuple(exprs), "int"), shape)
        exprs = _alike(exprs) if op in BOOLEAN else [as_float(e) for e in exprs]
        return self.new(Call(op, tuple(exprs), "bool" if op in BOOLEAN else "float"), shape)

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
        known = [self._bound_and_free(value) for value in values]
        for number, value in enumerate(values):
            mine = known[number][1]
            for at in range(len(values)):
                bound, theirs = known[at]
                if bound and any(axis in bound and theirs.get(place, axis) != axis for place, axis in mine.items()):
                    values[number] = self.renamed(value)
                    known[number] = self._bound_and_free(values[number])
        return values

    def _bound_and_free(self, value: Value) -> tuple[frozenset[int], dict[tuple[int, int], int]]:
        """Axes that something within replaces or reduces, and those that the value runs over, by their places."""
        bound = frozenset(self.axes.resolve(tuple(value.expr.bound)))
        return bound, {place: axis for axis, place in self._places(value.shape)}

    def _places(self, shape: Shape) -> list[tuple[int, tuple[int, int]]]:
        """Each axis with its dimension, counted from the last, and its stride there."""
        found: list[tuple[int, tuple[int, int]]] = []
        for place, dim in enumerate(reversed(shape)):
            stride = 1
            for axis in reversed(self.axes.resolve(dim)):
                found.append((axis, (place, stride)))
                stride *= self.axes.length(axis)
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
        return flattened([Index(axis) for axis in dim], [self.axes.length(axis) for axis in dim])

    def pick(self, value: Value, dim: int, index: Expr, new: Dim, inside: Expr | None = None) -> Value:
        """`value` along `dim` at a position that is an expression over `new` axes, among others; read where `inside`."""
        dim %= len(value.shape)
        expr = value.expr
        axes = self.axes.resolve(value.shape[dim])
        for number, axis in enumerate(reversed(axes)):
            size = self.axes.length(axis)
            digit = index if number == len(axes) - 1 else remainder(index, size)
            expr = At(expr, digit, axis, inside)
            index = quotient(index, size)
        return value.with_expr(expr).spliced(dim, new)

    def reduce(self, op: Combine, value: Value, dims: Sequence[int] | None, keep: bool) -> Value:
        """A reduction over dimensions; None or none at all means all of them."""
        chosen = value.chosen(dims)
        over = tuple(axis for d in chosen for axis in value.shape[d])
        shape = [() if d in chosen else dim for d, dim in enumerate(value.shape) if keep or d not in chosen]
        expr = value.expr if value.expr.kind == "int" else as_float(value.expr)
        op = WITHOUT_NAN.get(op, op) if expr.kind == "int" else op
        return self.new(Reduce(op, expr, over, expr.kind) if over else expr, shape)

    def count(self, value: Value, dims: Sequence[int] | None) -> Value:
        """How many elements `reduce` over the same dimensions takes in."""
        over = tuple(axis for d in value.chosen(dims) for axis in value.shape[d])
        return self.new(Count(over) if over else Const(1.0), ())

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
            shape = self.axes.broadcast(value.spliced(dim, ()).shape, index.shape)
            return self.new(At(value.expr, index.expr, axis[0]), shape)
        if set(axis) & set(self.axes.resolve(index.shape[dim])):
            value = self.renamed(value)
        for place, wanted in enumerate(index.shape):
            if place != dim and wanted and self.axes.size(wanted) != self.axes.size(value.shape[place]):
                value = self.pick(value, place, self.position(wanted), wanted)
        picked = self.pick(value, dim, index.expr, index.shape[dim])
        return picked.shaped(self.axes.broadcast(picked.shape, index.shape))


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


def kind_of(spec: TensorSpec) -> Kind:
    """What a tensor's elements are computed as.

    Raises:
        ProposeError: a dtype that is not written.
    """
    if spec.dtype in (*FLOATS, *FLOAT8):
        return "float"
    if spec.dtype == "bool":
        return "bool"
    if spec.dtype in INTEGERS:
        return "int"
    raise ProposeError(
        f"{spec.name!r} is {spec.dtype}: the author writes float32, float16 and bfloat16 data, integers, and bool masks"
    )


Result = Value | tuple[Value | None, ...]
"""What an operation gives: a value, or several of which some may not be written."""


@dataclass(frozen=True)
class Arguments:
    """One node's arguments, with references resolved to values.

    Raises:
        ProposeError: from its methods, where an argument is something else than they give.
    """

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
        """A tensor or a number."""
        found = self.raw(name)
        if found is None and default is not None:
            return default
        if isinstance(found, Ref):
            return self._referred(found)
        if (number := _number(found)) is not None:
            return number
        raise ProposeError(f"argument {name!r} of {self.node.op} is {found!r}")

    def tensor(self, name: str) -> Value:
        """A tensor."""
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
        """A number."""
        found = self.operand(name, default)
        if isinstance(found, Value):
            raise ProposeError(f"argument {name!r} of {self.node.op} is a tensor, not a number")
        return float(found)

    def integer(self, name: str, default: int = 0) -> int:
        """A whole number."""
        return int(self.number(name, default))

    def numbers(self, name: str) -> list[float]:
        """A list of numbers."""
        found = self.raw(name)
        read = map(_number, found if isinstance(found, tuple) else (found,))
        return [float(n) for n in read if n is not None]

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


def _number(found: Literal) -> float | int | bool | None:
    """A number that a graph spells; None for anything else."""
    if isinstance(found, Infinity):
        return float("inf") * found.infinity
    return float("nan") if found == "nan" else found if isinstance(found, bool | int | float) else None


Rule = Callable[[Builder, Arguments], Result]
"""How one ATen overload is written."""


def call(op: str, *operands: Operand) -> Value:
    """A pointwise operation, where one operand at least is a value."""
    return next(one.b for one in operands if isinstance(one, Value)).call(op, *operands)


def formula(function: Callable[..., Operand]) -> Callable[[Builder, Arguments], Value]:
    """A rule out of a function of ATen's arguments, by their names: those with a default are numbers."""
    parameters = signature(function).parameters.values()

    def rule(b: Builder, a: Arguments) -> Value:
        given = (a.operand(p.name) if p.default is p.empty else a.number(p.name, p.default) for p in parameters)
        return b.value(function(*given))

    return rule


INTEGERS = ("int64", "int32", "int16", "int8", "uint8")
RANGES = {
    "int32": (-(2**31), 2**31 - 1), "int16": (-(2**15), 2**15 - 1), "int8": (-128, 127), "uint8": (0, 255),
}  # fmt: skip
"""The least and the greatest value of integers that wider ones wrap around in."""


NARROW = ("int16", "int8", "uint8")
GROWING = frozenset({"add", "sub", "mul", "neg", "abs"})
"""Operations whose result may be outside of their operands' range."""


def cast(b: Builder, a: Arguments) -> Value:
    """Intermediate roundings to half precision are left out, since they only lose accuracy; those to eight bits are meant."""
    x, wanted = a.tensor("self"), a.raw("dtype")
    return x if wanted is None else as_dtype(b, x, str(wanted))


def cast_like(b: Builder, a: Arguments) -> Value:
    """To the type of another tensor."""
    return as_dtype(b, a.tensor("self"), a.node.result[0].dtype)


def truth(b: Builder, operand: Operand) -> Value:
    """Whether the operand is not zero."""
    value = b.value(operand)
    return value if value.expr.kind == "bool" else b.call("ne", value, 0)


def narrowed(b: Builder, result: Value, dtype: str) -> Value:
    """A result of arithmetic on integers of less than 32 bits, which are computed with 32: it wraps around as in PyTorch."""
    expr = result.expr
    if dtype not in NARROW or not isinstance(expr, Call) or expr.kind != "int" or expr.op not in GROWING:
        return result
    return result.with_expr(wrapped(b, expr, dtype))


def as_dtype(b: Builder, x: Value, wanted: str) -> Value:
    """The value in another type.

    Raises:
        ProposeError: one that is not written.
    """
    if wanted in FLOATS:
        return x.floating
    if wanted in INTEGERS:
        return x.with_expr(wrapped(b, as_whole(x.expr), wanted))
    if wanted == "bool":
        return truth(b, x)
    if wanted == "float64" and isinstance(x.expr, Scan):
        return x
    if wanted in b.rounds:
        return b.call(wanted, x.floating)
    raise ProposeError(f"a cast from {x.expr.kind} to {wanted}")


def as_whole(expr: Expr) -> Expr:
    """The expression as a whole number, truths as they are."""
    return expr if expr.kind in ("int", "bool") else Call("int", (expr,), "int")


def wrapped(b: Builder, expr: Expr, wanted: str) -> Expr:
    """The integer as a narrower type holds it: itself where it is known to fit."""
    if expr.kind == "bool" or wanted not in RANGES:
        return expr
    low, high = RANGES[wanted]
    if isinstance(expr, Const):
        return Const(float((int(expr.value) - low) % (high - low + 1) + low), "int")
    found = bounds(expr, b.axes.length)
    fits = found is not None and low <= found[0] and found[1] <= high
    return expr if fits else Call(wanted, (expr,), "int")
