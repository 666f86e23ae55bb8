"""ATen's pointwise operations as expressions."""

from collections.abc import Sequence
from math import inf, log

from kernelwright.errors import ProposeError
from kernelwright.propose.author.ir.expr import Call, Const, Expr, Kind
from kernelwright.propose.author.ir.positions import flattened, plus, times, whole
from kernelwright.propose.author.read.bits import BITS, LOGIC, divided
from kernelwright.propose.author.read.builder import (
    INTEGERS,
    Arguments,
    Builder,
    Operand,
    Rule,
    Value,
    as_dtype,
    call,
    formula,
    kind_of,
    truth,
)

UNARY = (
    "abs", "ceil", "cos", "erf", "exp", "expm1", "floor", "neg", "reciprocal", "round", "rsqrt", "sigmoid", "sin", "sqrt",
)  # fmt: skip
COMPARISONS = ("eq", "ne", "lt", "le", "gt", "ge")
BINARY = {
    "div.Tensor": "div", "div.Scalar": "div", "mul.Tensor": "mul", "mul.Scalar": "mul",
    "maximum.default": "max", "minimum.default": "min",
    **{f"{op}.{kind}": op for op in COMPARISONS for kind in ("Tensor", "Scalar")},
}  # fmt: skip


def _unary(op: str) -> Rule:
    return formula(lambda self: call(op, self))


def _binary(op: str) -> Rule:
    return lambda b, a: b.call(op, a.operand("self"), a.operand("other"))


def _logical(op: str) -> Rule:
    return lambda b, a: b.call(op, truth(b, a.tensor("self")), truth(b, a.tensor("other")))


def _sum(op: str, left: str, right: str) -> Rule:
    """A sum or a difference, of which the right operand is multiplied by `alpha`."""
    return lambda b, a: b.call(op, a.operand(left), scaled(b, a.operand(right), a.number("alpha", 1)))


def scaled(b: Builder, operand: Operand, factor: float) -> Operand:
    """The operand times a number; itself when that is one."""
    return operand if factor == 1 else b.call("mul", operand, factor)


def power(x: Value, exponent: float) -> Value:
    """A power by products and square roots.

    Raises:
        ProposeError: the exponent is neither a small integer nor half of one.
    """
    if exponent < 0:
        inverse = power(x, -exponent)
        return call("rsqrt", x) if exponent == -0.5 else call("reciprocal", inverse)
    if exponent > 16 or (2 * exponent) % 1:
        raise ProposeError(f"pow with exponent {exponent}")
    out = x.b.value(1.0) if exponent < 1 else x
    for bit in bin(int(exponent))[3:]:
        out = out * out
        out = out * x if bit == "1" else out
    if not exponent % 1:
        return out
    root = call("sqrt", x)
    return root if exponent < 1 else out * root


def _gelu(b: Builder, a: Arguments) -> Value:
    x = a.tensor("self")
    if a.raw("approximate") == "tanh":
        return x * call("sigmoid", 2.0 * (0.7978845608028654 * (x + 0.044715 * power(x, 3))))
    return x * call("normal_cdf", x)


DISTINCT = 17.0
"""From here on log(1 + exp(x)) is x in float32."""


def _softplus(b: Builder, a: Arguments) -> Value:
    beta, threshold, x = a.number("beta", 1), a.number("threshold", 20), a.tensor("self")
    inner = b.value(scaled(b, x, beta))
    value = softplus(inner) if beta == 1 else softplus(inner) / beta
    # Beyond a threshold it is x, which higher ones cannot be told from.
    return value if threshold >= DISTINCT else call("where", inner > threshold, x, value)


def clamp(x: Value, low: Operand, high: Operand) -> Value:
    """Cut x to [low, high]; infinite bounds cost nothing."""
    out = x if low == -inf else call("max", x, low)
    return out if high == inf else call("min", out, high)


def elu(x: Value, alpha: float, scale: float, inner: float) -> Value:
    """The value scale * (x where positive, alpha * expm1(inner * x) otherwise)."""
    below = scaled(x.b, call("expm1", scaled(x.b, call("min", x, 0.0), inner)), alpha)
    return x.b.value(scaled(x.b, call("where", x > 0.0, x, below), scale))


def _literal(b: Builder, a: Arguments) -> Value:
    number = a.operand("s" if a.raw("fill_value") is None else "fill_value")
    return b.value(number).shaped(b.axes.fresh([n for n in a.dims("size") or () if n >= 0]))


def _constant(b: Builder, a: Arguments) -> Value:
    """A few numbers, of which the element's place tells one."""
    (spec,) = a.node.result
    shape = b.axes.fresh(spec.shape)
    place = flattened([b.position(dim) for dim in shape], spec.shape)
    return b.new(_chosen(place, a.numbers("values"), 0, kind_of(spec)), shape)


def _chosen(place: Expr, numbers: Sequence[float], first: int, kind: Kind) -> Expr:
    """The number at a place: a formula where whole ones are equally far apart, or a choice between halves."""
    step = numbers[1] - numbers[0] if len(numbers) > 1 else 0
    if len(set(numbers)) < 2:
        return Const(next(iter(numbers), 0.0), kind)
    if kind == "int" and all(n == numbers[0] + i * step for i, n in enumerate(numbers)):
        return plus(times(place, int(step)), whole(int(numbers[0] - first * step)))
    half = len(numbers) // 2
    halves = _chosen(place, numbers[:half], first, kind), _chosen(place, numbers[half:], first + half, kind)
    return Call("where", (Call("lt", (place, whole(first + half)), "bool"), *halves), kind)


def _filled(number: float) -> Rule:
    def rule(b: Builder, a: Arguments) -> Value:
        dtype = str(a.raw("dtype") or "float32")
        kind: Kind = "bool" if dtype == "bool" else "int" if "int" in dtype else "float"
        return b.new(Const(number, kind), b.axes.fresh(a.dims("size") or ()))

    return rule


def _renewed(number: float | None) -> Rule:
    """A tensor of another's type, of its own shape."""

    def rule(b: Builder, a: Arguments) -> Value:
        value = b.value(a.operand("fill_value") if number is None else number)
        return as_dtype(b, value, a.node.result[0].dtype).shaped(b.axes.fresh(a.dims("size") or ()))

    return rule


def _floor_divide(b: Builder, a: Arguments) -> Value:
    x, y, mode = a.operand("self"), a.operand("other"), a.raw("rounding_mode")
    if mode is not None and a.node.result[0].dtype in INTEGERS:
        return divided(b, a)
    quotient = b.call("div", x, y)
    if mode is None:
        return quotient
    if mode == "floor":
        return b.call("floor", quotient)
    return b.call("where", quotient < 0.0, b.call("ceil", quotient), b.call("floor", quotient))


def _like(number: float | None) -> Rule:
    def rule(b: Builder, a: Arguments) -> Value:
        x = a.tensor("self")
        if number is None:
            return x.with_expr(b.value(a.operand("fill_value")).expr)
        whole = x.expr.kind == "int" and a.raw("dtype") is None
        return x.with_expr(Const(number, "int" if whole else "float"))

    return rule


def _added(op: str) -> Rule:
    """A product or a quotient, times a number, that is added."""
    return lambda b, a: (
        a.tensor("self") + scaled(b, b.call(op, a.tensor("tensor1"), a.tensor("tensor2")), a.number("value", 1))
    )


def _power_of(b: Builder, a: Arguments) -> Value:
    base = a.number("self", 1)
    if base <= 0:
        raise ProposeError(f"a power of {base}")
    return call("exp", a.tensor("exponent") * log(base))


POINTWISE: dict[str, Rule] = {
    **{f"aten.{op}.default": _unary(op) for op in UNARY},
    **{f"aten.{name}": _binary(op) for name, op in BINARY.items()},
    **{f"aten.{op}.{kind}": _sum(op, "self", "other") for op in ("add", "sub") for kind in ("Tensor", "Scalar")},
    **dict.fromkeys(("aten.rsub.Tensor", "aten.rsub.Scalar"), _sum("sub", "other", "self")),
    "aten.pow.Tensor_Scalar": formula(lambda self, exponent=1: power(self, exponent)),
    "aten.log.default": formula(lambda self: logarithm(self)), "aten.log1p.default": formula(lambda self: log1p(self)),
    "aten.tanh.default": formula(lambda self: tanh(self)), "aten.square.default": formula(lambda self: power(self, 2)),
    "aten.relu.default": formula(lambda self: call("max", self, 0.0)),
    "aten.relu6.default": formula(lambda self: clamp(self, 0.0, 6.0)),
    "aten.gelu.default": _gelu, "aten.silu.default": formula(lambda self: self * call("sigmoid", self)),
    "aten.softplus.default": _softplus, "aten.log_sigmoid.default": formula(lambda self: -softplus(-self)),
    **{f"aten.{form}": lambda b, a: clamp(a.tensor("self"), a.operand("min", -inf), a.operand("max", inf))
       for form in ("clamp.default", "clamp.Tensor", "clamp_min.default", "clamp_max.default")},
    "aten.hardtanh.default": formula(lambda self, min_val=-1, max_val=1: clamp(self, min_val, max_val)),
    "aten.hardsigmoid.default": formula(lambda self: clamp(self + 3.0, 0.0, 6.0) / 6.0),
    "aten.hardswish.default": formula(lambda self: self * (clamp(self + 3.0, 0.0, 6.0) / 6.0)),
    "aten.leaky_relu.default": formula(
        lambda self, negative_slope=0.01: call("where", self > 0.0, self, self * negative_slope)
    ),
    "aten.elu.default": formula(lambda self, alpha=1, scale=1, input_scale=1: elu(self, alpha, scale, input_scale)),
    "aten.celu.default": formula(lambda self, alpha=1: elu(self, alpha, 1.0, 1.0 / alpha)),
    "aten.selu.default": formula(lambda self: elu(self, 1.6732632423543772, 1.0507009873554805, 1.0)),
    "aten.mish.default": formula(lambda self: self * tanh(softplus(self))),
    **{f"aten.where.{kind}": formula(lambda condition, self, other: call("where", condition, self, other))
       for kind in ("self", "ScalarOther", "ScalarSelf", "Scalar")},
    **{f"aten.masked_fill.{kind}": formula(lambda mask, value, self: call("where", mask, value, self))
       for kind in ("Scalar", "Tensor")},
    "aten.addcmul.default": _added("mul"), "aten.addcdiv.default": _added("div"),
    "aten.scalar_tensor.default": _literal, "aten.full.default": _literal,
    "aten.full_like.default": _like(None), "constant": _constant,
    "aten.zeros.default": _filled(0.0), "aten.ones.default": _filled(1.0), "aten.empty.memory_format": _filled(0.0),
    "aten.new_zeros.default": _renewed(0.0), "aten.new_ones.default": _renewed(1.0), "aten.new_empty.default": _renewed(0.0),
    "aten.new_full.default": _renewed(None), "aten.empty_like.default": _like(0.0),
    "aten.sign.default": formula(
        lambda self: call("where", self > 0.0, 1.0, call("where", self < 0.0, -1.0, self * 0.0))
    ),
    "aten.div.Tensor_mode": _floor_divide, "aten.div.Scalar_mode": _floor_divide,
    "aten.threshold.default": formula(lambda self, threshold=0, value=0: call("where", self > threshold, self, value)),
    "aten.softshrink.default": formula(lambda self, lambd=0.5: call(
        "where", self > lambd, self - lambd, call("where", self < -lambd, self + lambd, self * 0.0))),
    "aten.hardshrink.default": formula(lambda self, lambd=0.5: call("where", call("abs", self) <= lambd, 0.0, self)),
    **dict.fromkeys(("aten.lerp.Scalar", "aten.lerp.Tensor"), formula(lambda self, end, weight: self + weight * (end - self))),
    "aten.log2.default": formula(lambda self: call("log", self) * (1 / log(2))),
    "aten.log10.default": formula(lambda self: call("log", self) * (1 / log(10))),
    "aten.pow.Scalar": _power_of, "aten.tan.default": formula(lambda self: call("sin", self) / call("cos", self)),
    "aten.exp2.default": formula(lambda self: call("exp", self * log(2))),
    **BITS, "aten.logical_not.default": lambda b, a: b.call("not", truth(b, a.tensor("self"))),
    **{f"aten.logical_{name}.default": _logical(op) for name, op in LOGIC.items()},
    "aten.isnan.default": formula(lambda self: call("ne", self, self)),
    "aten.zeros_like.default": _like(0.0), "aten.ones_like.default": _like(1.0),
}  # fmt: skip

LARGEST = 20.0
"""From here on the hyperbolic tangent of softplus is 1 in float32; beyond 44 the square of the exponential has no number."""


def softplus(x: Value) -> Value:
    """log(1 + exp(x)) without overflow."""
    return call("softplus", x)


def log1p(x: Value) -> Value:
    """log(1 + x)."""
    return call("log1p", x) if (power := _exponent(x.expr)) is None else softplus(x.with_expr(power))


def logarithm(x: Value) -> Value:
    """log(x)."""
    match x.expr:
        case Call(op="add", args=(Const(value=1.0), term) | (term, Const(value=1.0))):
            if (power := _exponent(term)) is not None:
                return softplus(x.with_expr(power))
    return call("log", x)


def _exponent(expr: Expr) -> Expr | None:
    """Of which the expression is the exponential."""
    match expr:
        case Call(op="exp", args=(power,)):
            return power
    return None


def tanh(x: Value) -> Value:
    """The hyperbolic tangent; of log(1 + e) it is n / (n + 2) with n = e (e + 2)."""
    match x.expr:
        case Call(op="softplus", args=(power,)):
            e = call("exp", call("min", x.with_expr(power), LARGEST))
            n = e * (e + 2.0)
            return n / (n + 2.0)
    return call("tanh", x)
