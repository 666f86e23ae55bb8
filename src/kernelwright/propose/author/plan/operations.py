"""PyTorch's operations as expressions: pointwise ones, reductions and norms over trailing axes.

One function or one table line for each ATen overload.
"""

from collections.abc import Sequence
from math import inf, log

from kernelwright.errors import ProposeError
from kernelwright.propose.author.plan.builder import Arguments, Builder, Operand, Result, Rule, Value
from kernelwright.propose.author.plan.casts import truth
from kernelwright.propose.author.plan.expr import Combine, Const, Kind
from kernelwright.propose.author.plan.softplus import log1p, logarithm, softplus, tanh

Dims = Sequence[int] | None

UNARY = {
    "abs": "abs", "ceil": "ceil", "cos": "cos", "erf": "erf", "exp": "exp", "expm1": "expm1",
    "floor": "floor", "neg": "neg",
    "reciprocal": "reciprocal", "rsqrt": "rsqrt", "sigmoid": "sigmoid", "sin": "sin", "sqrt": "sqrt",
    "round": "round",
}  # fmt: skip
COMPARISONS = ("eq", "ne", "lt", "le", "gt", "ge")
BINARY = {
    "div.Tensor": "div", "div.Scalar": "div", "mul.Tensor": "mul", "mul.Scalar": "mul",
    "maximum.default": "max", "minimum.default": "min",
    **{f"{op}.{kind}": op for op in COMPARISONS for kind in ("Tensor", "Scalar")},
}  # fmt: skip
LOGIC = {"and": "and", "or": "or", "xor": "ne"}
"""Of truth values."""


def _unary(op: str) -> Rule:
    return lambda b, a: b.call(op, a.tensor("self"))


def _binary(op: str) -> Rule:
    return lambda b, a: b.call(op, a.operand("self"), a.operand("other"))


def _logical(op: str) -> Rule:
    return lambda b, a: b.call(op, truth(b, a.tensor("self")), truth(b, a.tensor("other")))


def _bits(op: str) -> Rule:
    """Of truth values, which have one."""

    def rule(b: Builder, a: Arguments) -> Value:
        sides = [b.value(a.operand("self")), b.value(a.operand("other"))]
        if any(side.expr.kind != "bool" for side in sides):
            raise ProposeError("the bits of an integer")
        return b.call(op, *sides)

    return rule


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


TOLD = 17.0
"""From here on log(1 + exp(x)) is x in float32."""


def _softplus(b: Builder, a: Arguments) -> Value:
    beta, threshold, x = a.number("beta", 1), a.number("threshold", 20), a.tensor("self")
    value = softplus(b, scaled(b, x, beta))
    value = value if beta == 1 else b.call("div", value, beta)
    # Beyond a threshold it is x, which higher ones cannot be told from.
    return value if threshold >= TOLD else b.call("where", b.call("gt", scaled(b, x, beta), threshold), x, value)


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
    return b.call("mul", x, tanh(b, softplus(b, x)))


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


def _filled(number: float) -> Rule:
    def rule(b: Builder, a: Arguments) -> Value:
        dtype = str(a.raw("dtype") or "float32")
        kind: Kind = "bool" if dtype == "bool" else "int" if "int" in dtype else "float"
        return Value(Const(number, kind), b.axes.fresh(a.dims("size") or ()))

    return rule


def _sign(b: Builder, a: Arguments) -> Value:
    x = a.tensor("self")
    return b.call(
        "where", b.call("gt", x, 0.0), 1.0, b.call("where", b.call("lt", x, 0.0), -1.0, b.call("mul", x, 0.0))
    )


def _floor_divide(b: Builder, a: Arguments) -> Value:
    x, y, mode = a.operand("self"), a.operand("other"), a.raw("rounding_mode")
    quotient = b.call("div", x, y)
    if mode is None:
        return quotient
    if not isinstance(x, Value) or x.expr.kind != "float":
        raise ProposeError("a whole division of integers")
    if mode == "floor":
        return b.call("floor", quotient)
    return b.call("where", b.call("lt", quotient, 0.0), b.call("ceil", quotient), b.call("floor", quotient))


def _threshold(b: Builder, a: Arguments) -> Value:
    x = a.tensor("self")
    return b.call("where", b.call("gt", x, a.number("threshold", 0)), x, a.number("value", 0))


def _softshrink(b: Builder, a: Arguments) -> Value:
    x, edge = a.tensor("self"), a.number("lambd", 0.5)
    beyond = b.call("where", b.call("lt", x, -edge), b.call("add", x, edge), b.call("mul", x, 0.0))
    return b.call("where", b.call("gt", x, edge), b.call("sub", x, edge), beyond)


def _hardshrink(b: Builder, a: Arguments) -> Value:
    x, edge = a.tensor("self"), a.number("lambd", 0.5)
    return b.call("where", b.call("le", b.call("abs", x), edge), 0.0, x)


def _lerp(b: Builder, a: Arguments) -> Value:
    x, end = a.tensor("self"), a.tensor("end")
    return b.call("add", x, b.call("mul", a.operand("weight"), b.call("sub", end, x)))


def _of_base(factor: float) -> Rule:
    return lambda b, a: b.call("mul", b.call("log", a.tensor("self")), factor)


def _power_of(b: Builder, a: Arguments) -> Value:
    base = a.number("self", 1)
    if base <= 0:
        raise ProposeError(f"a power of {base}")
    return b.call("exp", b.call("mul", a.tensor("exponent"), log(base)))


def _inverted(b: Builder, a: Arguments) -> Value:
    x = a.tensor("self")
    if x.expr.kind != "bool":
        raise ProposeError("the bits of an integer")
    return b.call("not", x)


def _tangent(b: Builder, a: Arguments) -> Value:
    x = a.tensor("self")
    return b.call("div", b.call("sin", x), b.call("cos", x))


def _like(number: float | None) -> Rule:
    def rule(b: Builder, a: Arguments) -> Value:
        x = a.tensor("self")
        if number is None:
            return Value(b.value(a.operand("fill_value")).expr, x.shape)
        whole = x.expr.kind == "int" and a.raw("dtype") is None
        return Value(Const(number, "int" if whole else "float"), x.shape)

    return rule


POINTWISE: dict[str, Rule] = {
    **{f"aten.{name}.default": _unary(op) for name, op in UNARY.items()},
    **{f"aten.{name}": _binary(op) for name, op in BINARY.items()},
    "aten.add.Tensor": _add, "aten.add.Scalar": _add,
    "aten.sub.Tensor": _sub, "aten.sub.Scalar": _sub,
    "aten.rsub.Tensor": _rsub, "aten.rsub.Scalar": _rsub,
    "aten.pow.Tensor_Scalar": _pow,
    "aten.log.default": lambda b, a: logarithm(b, a.tensor("self")),
    "aten.log1p.default": lambda b, a: log1p(b, a.tensor("self")),
    "aten.tanh.default": lambda b, a: tanh(b, a.tensor("self")),
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
    "aten.zeros.default": _filled(0.0), "aten.ones.default": _filled(1.0),
    "aten.sign.default": _sign, "aten.div.Tensor_mode": _floor_divide, "aten.div.Scalar_mode": _floor_divide,
    "aten.threshold.default": _threshold, "aten.softshrink.default": _softshrink,
    "aten.hardshrink.default": _hardshrink,
    "aten.lerp.Scalar": _lerp, "aten.lerp.Tensor": _lerp, "aten.log2.default": _of_base(1 / log(2)),
    "aten.log10.default": _of_base(1 / log(10)), "aten.pow.Scalar": _power_of, "aten.tan.default": _tangent,
    "aten.exp2.default": lambda b, a: b.call("exp", b.call("mul", a.tensor("self"), log(2))),
    "aten.bitwise_not.default": _inverted, "aten.logical_not.default": lambda b, a: b.call("not", truth(b, a.tensor("self"))),
    **{f"aten.logical_{name}.default": _logical(op) for name, op in LOGIC.items()},
    **{f"aten.{form}.Tensor": _bits(op) for name, op in LOGIC.items() for form in (f"bitwise_{name}", f"__{name}__")},
    "aten.isnan.default": lambda b, a: b.call("ne", a.tensor("self"), a.tensor("self")),
    "aten.zeros_like.default": _like(0.0), "aten.ones_like.default": _like(1.0),
}  # fmt: skip


def _reduction(op: Combine) -> Rule:
    return lambda b, a: b.reduce(op, a.tensor("self"), a.dims("dim"), a.flag("keepdim"))


def _mean(b: Builder, a: Arguments) -> Value:
    return b.mean(a.tensor("self"), a.dims("dim"), a.flag("keepdim"))


def variance(b: Builder, x: Value, dims: Dims, keep: bool, correction: float = 0) -> Value:
    """Mean square distance from the mean, in two passes so that a large mean costs no digits."""
    square = power(b, b.call("sub", x, b.mean(x, dims, keep=True)), 2)
    if correction == 0:
        return b.mean(square, dims, keep)
    left = b.call("sub", b.count(x, dims), correction)
    return b.call("div", b.reduce("sum", square, dims, keep), left)


def _correction(a: Arguments) -> float:
    return a.number("correction", 1) if a.raw("unbiased") is None else a.flag("unbiased")


def _var(b: Builder, a: Arguments) -> Value:
    return variance(b, a.tensor("self"), a.dims("dim"), a.flag("keepdim"), _correction(a))


def _std(b: Builder, a: Arguments) -> Value:
    return b.call("sqrt", _var(b, a))


def _var_mean(b: Builder, a: Arguments) -> Result:
    return _var(b, a), _mean(b, a)


def softmax(b: Builder, x: Value, dims: Dims) -> Value:
    """exp(x - max) over its sum."""
    weight = b.call("exp", b.call("sub", x, b.reduce("max", x, dims, keep=True)))
    return b.call("div", weight, b.reduce("sum", weight, dims, keep=True))


def logsumexp(b: Builder, x: Value, dims: Dims, keep: bool) -> Value:
    """The maximum, plus log(sum(exp(x - max))); the maximum alone where it is infinite."""
    shifted = b.call("sub", x, b.reduce("max", x, dims, keep=True))
    total, top = b.reduce("sum", b.call("exp", shifted), dims, keep), b.reduce("max", x, dims, keep)
    endless = b.call("eq", b.call("abs", top), float("inf"))
    return b.call("where", endless, top, b.call("add", b.call("log", total), top))


def log_softmax(b: Builder, x: Value, dims: Dims) -> Value:
    """(x - max) - log(sum(exp(x - max)))."""
    shifted = b.call("sub", x, b.reduce("max", x, dims, keep=True))
    return b.call("sub", shifted, b.call("log", b.reduce("sum", b.call("exp", shifted), dims, keep=True)))


def _logsumexp(b: Builder, a: Arguments) -> Value:
    return logsumexp(b, a.tensor("self"), a.dims("dim"), a.flag("keepdim"))


def _trailing(a: Arguments) -> Dims:
    shape = a.dims("normalized_shape") or ()
    return range(-len(shape), 0)


def affine(b: Builder, x: Value, weight: Operand | None, bias: Operand | None) -> Value:
    """The value x * weight + bias, each where there is one."""
    x = x if weight is None else b.call("mul", x, weight)
    return x if bias is None else b.call("add", x, bias)


def _layer_norm(b: Builder, a: Arguments) -> tuple[Value, Value, Value]:
    x, dims = a.tensor("input"), _trailing(a)
    mean = b.mean(x, dims, keep=True)
    spread = b.call("add", variance(b, x, dims, keep=True), a.number("eps", 1e-5))
    scale = b.call("rsqrt", spread)
    normal = b.call("mul", b.call("sub", x, mean), scale)
    return affine(b, normal, a.optional("weight"), a.optional("bias")), mean, scale


def _rms_norm(b: Builder, a: Arguments) -> tuple[Value, Value]:
    x, dims = a.tensor("input"), _trailing(a)
    square = b.mean(power(b, x, 2), dims, keep=True)
    scale = b.call("rsqrt", b.call("add", square, a.number("eps", 2.0**-23)))
    return affine(b, b.call("mul", x, scale), a.optional("weight"), None), scale


def norm(b: Builder, x: Value, order: float, dims: Dims, keep: bool) -> Value:
    """A vector norm.

    Raises:
        ProposeError: an order other than 1, 2 and infinity.
    """
    if order == 1:
        return b.reduce("sum", b.call("abs", x), dims, keep)
    if order == 2:
        return b.call("sqrt", b.reduce("sum", power(b, x, 2), dims, keep))
    if order == float("inf"):
        return b.reduce("amax", b.call("abs", x), dims, keep)
    raise ProposeError(f"a vector norm of order {order}")


def _vector_norm(b: Builder, a: Arguments) -> Value:
    return norm(b, a.tensor("self"), a.number("ord", 2), a.dims("dim"), a.flag("keepdim"))


def _norm(b: Builder, a: Arguments) -> Value:
    return norm(b, a.tensor("self"), a.number("p", 2), a.dims("dim"), a.flag("keepdim"))


def _weight_norm(b: Builder, a: Arguments) -> Value:
    """A weight of the length `g` along one dimension; of -1, in all."""
    v, dim = a.tensor("v"), int(a.number("dim", 0))
    if dim == 0 and len(v.shape) == 1:
        raise ProposeError("a weight norm of a vector's elements")
    others = tuple(d for d in range(len(v.shape)) if dim not in (d, -1))
    return b.call("mul", v, b.call("div", a.tensor("g"), norm(b, v, 2, others, keep=True)))


def _gather(b: Builder, a: Arguments) -> Value:
    return b.at(a.tensor("self"), int(a.number("dim", -1)), a.tensor("index"))


REDUCTIONS: dict[str, Rule] = {
    "aten.sum.default": _reduction("sum"), "aten.sum.dim_IntList": _reduction("sum"),
    "aten.amax.default": _reduction("amax"), "aten.amin.default": _reduction("amin"),
    "aten.max.default": _reduction("amax"), "aten.min.default": _reduction("amin"),
    "aten.mean.default": _mean, "aten.mean.dim": _mean,
    "aten.var.default": _var, "aten.var.dim": _var, "aten.var.correction": _var,
    "aten.std.default": _std, "aten.std.dim": _std, "aten.std.correction": _std,
    "aten.var_mean.correction": _var_mean,
    "aten.softmax.int": lambda b, a: softmax(b, a.tensor("self"), a.dims("dim")),
    "aten._softmax.default": lambda b, a: softmax(b, a.tensor("self"), a.dims("dim")),
    "aten.log_softmax.int": lambda b, a: log_softmax(b, a.tensor("self"), a.dims("dim")),
    "aten._log_softmax.default": lambda b, a: log_softmax(b, a.tensor("self"), a.dims("dim")),
    "aten.logsumexp.default": _logsumexp,
    "aten.layer_norm.default": lambda b, a: _layer_norm(b, a)[0],
    "aten.native_layer_norm.default": _layer_norm,
    "aten.rms_norm.default": lambda b, a: _rms_norm(b, a)[0],
    "aten._fused_rms_norm.default": _rms_norm,
    "aten.linalg_vector_norm.default": _vector_norm, "aten._weight_norm.default": _weight_norm,
    "aten.norm.Scalar": _norm, "aten.norm.ScalarOpt_dim": _norm,
    "aten.gather.default": _gather,
}  # fmt: skip
