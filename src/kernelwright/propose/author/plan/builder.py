"""The workbench on which operations are written: values with shapes, and how broadcasting and reductions combine them.

ATen's names are unknown here.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from kernelwright.errors import ProposeError
from kernelwright.propose.author.plan.axes import Axes, Dim, Shape
from kernelwright.propose.author.plan.expr import At, Call, Combine, Const, Count, Expr, Kind, Load, Reduce
from kernelwright.records.tensor import TensorSpec

BOOLEAN = frozenset({"eq", "ne", "lt", "le", "gt", "ge", "and", "or", "not"})
"""Calls whose result is a truth value."""


@dataclass(frozen=True)
class Value:
    """An expression and the shape that it has as a tensor."""

    expr: Expr
    shape: Shape


Operand = Value | float | int | bool


class Builder:
    """Makes values out of values."""

    def __init__(self) -> None:
        self.axes = Axes()

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
        """A pointwise operation with broadcasting. Arithmetic turns integers and truths into floats."""
        values = [self.value(o) for o in operands]
        shape = self.axes.broadcast(*(v.shape for v in values))
        exprs = [v.expr for v in values]
        if op == "where":
            exprs[1:] = _alike(exprs[1:])
            return Value(Call(op, tuple(exprs), exprs[1].kind), shape)
        if op in ("and", "or", "not"):
            return Value(Call(op, tuple(exprs), "bool"), shape)
        exprs = _alike(exprs) if op in BOOLEAN else [as_float(e) for e in exprs]
        return Value(Call(op, tuple(exprs), "bool" if op in BOOLEAN else "float"), shape)

    def reduce(self, op: Combine, value: Value, dims: Sequence[int] | None, keep: bool) -> Value:
        """A reduction over dimensions; None or none at all means all of them."""
        rank = len(value.shape)
        chosen = {d % rank for d in dims} if dims else set(range(rank))
        over = tuple(axis for d in sorted(chosen) for axis in value.shape[d])
        shape = tuple(() if d in chosen else dim for d, dim in enumerate(value.shape) if keep or d not in chosen)
        expr = as_float(value.expr)
        return Value(Reduce(op, expr, over) if over else expr, shape)

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
        """`value[..., index, ...]` along `dim`, where the index has size one along it.

        Raises:
            ProposeError: a gather of more than one element of each row.
        """
        dim %= len(value.shape)
        axis = self.axes.resolve(value.shape[dim])
        if len(axis) != 1 or index.shape[dim]:
            raise ProposeError("a gather of several elements of a row")
        rest = (*value.shape[:dim], (), *value.shape[dim + 1 :])
        shape = self.axes.broadcast(rest, index.shape)
        return Value(At(value.expr, index.expr, axis[0]), shape)

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
    if spec.dtype in ("int64", "int32"):
        return "int"
    if spec.dtype == "bool":
        return "bool"
    raise ProposeError(
        f"{spec.name!r} is {spec.dtype}: the author writes float32, float16 and bfloat16 data,"
        " int64 and int32 labels, and bool masks"
    )
