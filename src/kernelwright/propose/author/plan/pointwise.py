"""Pointwise operations: one function or one table line for each ATen overload."""

from math import inf

from kernelwright.errors import ProposeError
from kernelwright.propose.author.plan.builder import Arguments, Builder, Operand, Rule, Value
from kernelwright.propose.author.plan.expr import Const

UNARY = {
    "abs": "abs", "ceil": "ceil", "cos": "cos", "erf": "erf", "exp": "exp", "expm1": "expm1",
    "floor": "floor", "log": "log", "log1p": "log1p", "logical_not": "not", "neg": "neg",
    "reciprocal": "reciprocal", "rsqrt": "rsqrt", "sigmoid": "sigmoid", "sin": "sin", "sqrt": "sqrt",
    "tanh": "tanh",
}  # fmt: skip
COMPARISONS = ("eq", "ne", "lt", "le", "gt", "ge")
BINARY = {
    "div.Tensor": "div", "div.Scalar": "div", "mul.Tensor": "mul", "mul.Scalar": "mul",
    "maximum.default": "max", "minimum.default": "min", "logical_and.default": "and",
    "logical_or.default": "or", "bitwise_and.Tensor": "and", "bitwise_or.Tensor": "or",
    **{f"{op}.{kind}": op for op in COMPARISONS for kind in ("Tensor", "Scalar")},
}  # fmt: skip


def _unary(op: str) -> Rule:
    return lambda b, a: b.call(op, a.tensor("self"))


def _binary(op: str) -> Rule:
    return lambda b, a: b.call(op, a.operand("self"), a.operand("other"))


def _add(b: Builder, a: Arguments) -> Value:
    return b.call("add", a.operand("self"), scaled(b, a.operand("other"), a.number("alpha", 1)))


def _sub(b: Builder, a: Arguments) -> Value:
    return b.call("sub", a.operand("self"), scaled(b, a.operand("other"), a.number("alpha", 1)))


def _rsub(b: Builder, a: Arguments) -> Value:
    return b.call("sub", a.operand("other"), scaled(b, a.operand("self"), a.number("alpha", 1)))


def scaled(b: Builder, operand: Operand, factor: float) -> Operand:
    """The operand times a number; itself when that is one."""
    return operand if factor == 1 else b.call("mul", operand, factor)


def _pow(b: Builder, a: Arguments) -> Value:
    return power(b, a.tensor("self"), a.number("exponent", 1))


def power(b: Builder, x: Value, exponent: float) -> Value:
    """A power by products and square roots.

    Raises:
        ProposeError: the exponent is neither a small integer nor half of one.
    """
    if exponent < 0:
        inverse = power(b, x, -exponent)
        return b.call("rsqrt", x) if exponent == -0.5 else b.call("reciprocal", inverse)
    if exponent > 16 or (2 * exponent) % 1:
        raise ProposeError(f"pow with exponent {exponent}")
    out = b.value(1.0) if exponent < 1 else x
    for bit in bin(int(exponent))[3:]:
        out = b.call("mul", out, out)
        out = b.call("mul", out, x) if bit == "1" else out
    if not exponent % 1:
        return out
    root = b.call("sqrt", x)
    return root if exponent < 1 else b.call("mul", out, root)


def _gelu(b: Builder, a: Arguments) -> Value:
    x = a.tensor("self")
    if a.raw("approximate") == "tanh":
        cube = power(b, x, 3)
        inner = b.call("mul", 0.7978845608028654, b.call("add", x, b.call("mul", 0.044715, cube)))
        return b.call("mul", x, b.call("sigmoid", b.call("mul", 2.0, inner)))
    return b.call("mul", x, b.call("normal_cdf", x))


def silu(b: Builder, x: Value) -> Value:
    """The product x * sigmoid(x)."""
    return b.call("mul", x, b.call("sigmoid", x))


def softplus(b: Builder, x: Operand) -> Value:
    """log(1 + exp(x)) without overflow."""
    tail = b.call("log1p", b.call("exp", b.call("neg", b.call("abs", x))))
    return b.call("add", b.call("max", x, 0.0), tail)


def _softplus(b: Builder, a: Arguments) -> Value:
    beta = a.number("beta", 1)
    return b.call("div", softplus(b, scaled(b, a.tensor("self"), beta)), beta)


def clamp(b: Builder, x: Operand, low: Operand, high: Operand) -> Value:
    """Cut x to [low, high]; infinite bounds cost nothing."""
    out = b.value(x)
    if low != -inf:
        out = b.call("max", out, low)
    return out if high == inf else b.call("min", out, high)


def _clamp(b: Builder, a: Arguments) -> Value:
    return clamp(b, a.tensor("self"), a.operand("min", -inf), a.operand("max", inf))


def _hardtanh(b: Builder, a: Arguments) -> Value:
    return clamp(b, a.tensor("self"), a.number("min_val", -1), a.number("max_val", 1))


def _hardsigmoid(b: Builder, a: Arguments) -> Value:
    return b.call("div", clamp(b, b.call("add", a.tensor("self"), 3.0), 0.0, 6.0), 6.0)


def _hardswish(b: Builder, a: Arguments) -> Value:
    return b.call("mul", a.tensor("self"), _hardsigmoid(b, a))


def _leaky_relu(b: Builder, a: Arguments) -> Value:
    x = a.tensor("self")
    return b.call("where", b.call("gt", x, 0.0), x, b.call("mul", x, a.number("negative_slope", 0.01)))


def _elu(b: Builder, a: Arguments) -> Value:
    alpha, scale, inner = a.number("alpha", 1), a.number("scale", 1), a.number("input_scale", 1)
    return elu(b, a.tensor("self"), alpha, scale, inner)


def elu(b: Builder, x: Value, alpha: float, scale: float, inner: float) -> Value:
    """The value scale * (x where positive, alpha * expm1(inner * x) otherwise)."""
    below = scaled(b, b.call("expm1", scaled(b, b.call("min", x, 0.0), inner)), alpha)
    return b.value(scaled(b, b.call("where", b.call("gt", x, 0.0), x, below), scale))


def _celu(b: Builder, a: Arguments) -> Value:
    alpha = a.number("alpha", 1)
    return elu(b, a.tensor("self"), alpha, 1.0, 1.0 / alpha)


def _selu(b: Builder, a: Arguments) -> Value:
    return elu(b, a.tensor("self"), 1.6732632423543772, 1.0507009873554805, 1.0)


def _mish(b: Builder, a: Arguments) -> Value:
    x = a.tensor("self")
    return b.call("mul", x, b.call("tanh", softplus(b, x)))


def _log_sigmoid(b: Builder, a: Arguments) -> Value:
    return b.call("neg", softplus(b, b.call("neg", a.tensor("self"))))


def _where(b: Builder, a: Arguments) -> Value:
    return b.call("where", a.tensor("condition"), a.operand("self"), a.operand("other"))


def _masked_fill(b: Builder, a: Arguments) -> Value:
    return b.call("where", a.tensor("mask"), a.operand("value"), a.tensor("self"))


def _addcmul(b: Builder, a: Arguments) -> Value:
    product = b.call("mul", a.tensor("tensor1"), a.tensor("tensor2"))
    return b.call("add", a.tensor("self"), scaled(b, product, a.number("value", 1)))


def _addcdiv(b: Builder, a: Arguments) -> Value:
    quotient = b.call("div", a.tensor("tensor1"), a.tensor("tensor2"))
    return b.call("add", a.tensor("self"), scaled(b, quotient, a.number("value", 1)))


def _literal(b: Builder, a: Arguments) -> Value:
    number = a.operand("s" if a.raw("fill_value") is None else "fill_value")
    shape = b.axes.fresh([n for n in a.dims("size") or () if n >= 0])
    return Value(b.value(number).expr, shape)


def _like(number: float | None) -> Rule:
    def rule(b: Builder, a: Arguments) -> Value:
        literal = b.value(a.operand("fill_value")).expr if number is None else Const(number)
        return Value(literal, a.tensor("self").shape)

    return rule


POINTWISE: dict[str, Rule] = {
    **{f"aten.{name}.default": _unary(op) for name, op in UNARY.items()},
    **{f"aten.{name}": _binary(op) for name, op in BINARY.items()},
    "aten.add.Tensor": _add, "aten.add.Scalar": _add,
    "aten.sub.Tensor": _sub, "aten.sub.Scalar": _sub,
    "aten.rsub.Tensor": _rsub, "aten.rsub.Scalar": _rsub,
    "aten.pow.Tensor_Scalar": _pow,
    "aten.square.default": lambda b, a: power(b, a.tensor("self"), 2),
    "aten.relu.default": lambda b, a: b.call("max", a.tensor("self"), 0.0),
    "aten.relu6.default": lambda b, a: clamp(b, a.tensor("self"), 0.0, 6.0),
    "aten.gelu.default": _gelu,
    "aten.silu.default": lambda b, a: silu(b, a.tensor("self")),
    "aten.softplus.default": _softplus, "aten.log_sigmoid.default": _log_sigmoid,
    "aten.clamp.default": _clamp, "aten.clamp.Tensor": _clamp,
    "aten.clamp_min.default": _clamp, "aten.clamp_max.default": _clamp,
    "aten.hardtanh.default": _hardtanh, "aten.hardsigmoid.default": _hardsigmoid,
    "aten.hardswish.default": _hardswish, "aten.leaky_relu.default": _leaky_relu,
    "aten.elu.default": _elu, "aten.celu.default": _celu, "aten.selu.default": _selu,
    "aten.mish.default": _mish,
    "aten.where.self": _where, "aten.where.ScalarOther": _where, "aten.where.ScalarSelf": _where,
    "aten.where.Scalar": _where,
    "aten.masked_fill.Scalar": _masked_fill, "aten.masked_fill.Tensor": _masked_fill,
    "aten.addcmul.default": _addcmul, "aten.addcdiv.default": _addcdiv,
    "aten.scalar_tensor.default": _literal, "aten.full.default": _literal,
    "aten.full_like.default": _like(None),
    "aten.zeros_like.default": _like(0.0), "aten.ones_like.default": _like(1.0),
}  # fmt: skip
