"""PyTorch's casts, and what is a truth value of other values."""

from kernelwright.errors import ProposeError
from kernelwright.propose.author.plan.builder import Arguments, Builder, Operand, Value, as_float
from kernelwright.propose.author.plan.expr import Call, Const, Expr, Scan
from kernelwright.propose.author.plan.positions import bounds

INTEGERS = ("int64", "int32", "int16", "int8", "uint8")
FLOATS = ("float32", "float16", "bfloat16")
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
    return x if wanted is None else _as(b, x, str(wanted))


def cast_like(b: Builder, a: Arguments) -> Value:
    """To the type of another tensor."""
    return _as(b, a.tensor("self"), a.node.result[0].dtype)


def truth(b: Builder, operand: Operand) -> Value:
    """Whether the operand is not zero."""
    value = b.value(operand)
    return value if value.expr.kind == "bool" else b.call("ne", value, 0)


def narrowed(b: Builder, result: Value, dtype: str) -> Value:
    """A result of arithmetic on integers of less than 32 bits, which are computed with 32: it wraps around as in PyTorch."""
    expr = result.expr
    if dtype not in NARROW or not isinstance(expr, Call) or expr.kind != "int" or expr.op not in GROWING:
        return result
    return Value(_wrapped(b, expr, dtype), result.shape)


def _as(b: Builder, x: Value, wanted: str) -> Value:
    if wanted in FLOATS:
        return Value(as_float(x.expr), x.shape)
    if wanted in INTEGERS:
        return Value(_wrapped(b, _as_whole(x.expr), wanted), x.shape)
    if wanted == "bool":
        return truth(b, x)
    if wanted == "float64" and isinstance(x.expr, Scan):
        return x
    if wanted == "float8_e4m3fn" and b.float8:
        return b.call("float8_e4m3fn", Value(as_float(x.expr), x.shape))
    raise ProposeError(f"a cast from {x.expr.kind} to {wanted}")


def _as_whole(expr: Expr) -> Expr:
    return expr if expr.kind in ("int", "bool") else Call("int", (expr,), "int")


def _wrapped(b: Builder, expr: Expr, wanted: str) -> Expr:
    """The integer as a narrower type holds it: itself where it is known to fit."""
    if expr.kind == "bool" or wanted not in RANGES:
        return expr
    low, high = RANGES[wanted]
    if isinstance(expr, Const):
        return Const(float((int(expr.value) - low) % (high - low + 1) + low), "int")
    found = bounds(expr, lambda axis: b.axes.size((axis,)))
    fits = found is not None and low <= found[0] and found[1] <= high
    return expr if fits else Call(wanted, (expr,), "int")
