"""Reductions, and what is built of them: norms, softmax and losses. One function or table line for each ATen overload."""

from collections.abc import Callable, Sequence

from kernelwright.errors import ProposeError
from kernelwright.propose.author.plan.builder import Arguments, Builder, Operand, Result, Rule, Value
from kernelwright.propose.author.plan.expr import Combine
from kernelwright.propose.author.plan.pointwise import power, scaled, softplus

Dims = Sequence[int] | None


def _reduction(op: Combine) -> Rule:
    return lambda b, a: b.reduce(op, a.tensor("self"), a.dims("dim"), a.flag("keepdim"))


def _extreme_of_dim(op: Combine) -> Rule:
    return lambda b, a: (b.reduce(op, a.tensor("self"), a.dims("dim"), a.flag("keepdim")), None)


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
    """The maximum, plus log(sum(exp(x - max)))."""
    shifted = b.call("sub", x, b.reduce("max", x, dims, keep=True))
    total = b.reduce("sum", b.call("exp", shifted), dims, keep)
    return b.call("add", b.call("log", total), b.reduce("max", x, dims, keep))


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
        return b.reduce("max", b.call("abs", x), dims, keep)
    raise ProposeError(f"a vector norm of order {order}")


def _vector_norm(b: Builder, a: Arguments) -> Value:
    return norm(b, a.tensor("self"), a.number("ord", 2), a.dims("dim"), a.flag("keepdim"))


def _norm(b: Builder, a: Arguments) -> Value:
    return norm(b, a.tensor("self"), a.number("p", 2), a.dims("dim"), a.flag("keepdim"))


def _gather(b: Builder, a: Arguments) -> Value:
    return b.at(a.tensor("self"), int(a.number("dim", -1)), a.tensor("index"))


REDUCTIONS: dict[str, Rule] = {
    "aten.sum.default": _reduction("sum"), "aten.sum.dim_IntList": _reduction("sum"),
    "aten.amax.default": _reduction("max"), "aten.amin.default": _reduction("min"),
    "aten.max.default": _reduction("max"), "aten.min.default": _reduction("min"),
    "aten.max.dim": _extreme_of_dim("max"), "aten.min.dim": _extreme_of_dim("min"),
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
    "aten.linalg_vector_norm.default": _vector_norm,
    "aten.norm.Scalar": _norm, "aten.norm.ScalarOpt_dim": _norm,
    "aten.gather.default": _gather,
}  # fmt: skip


Term = Callable[[Builder, Value, Value, Arguments], Value]
NONE, MEAN = 0, 1
"""ATen's codes of a loss's reduction; 2 is the sum."""


def _loss(term: Term) -> Rule:
    def rule(b: Builder, a: Arguments) -> Value:
        if a.raw("weight") is not None or a.raw("pos_weight") is not None:
            raise ProposeError(f"{a.node.op} with weights")
        return _reduced(b, term(b, a.tensor("self"), a.tensor("target"), a), a)

    return rule


def _reduced(b: Builder, terms: Value, a: Arguments) -> Value:
    code = a.number("reduction", MEAN)
    if code == NONE:
        return terms
    total = b.reduce("sum", terms, None, keep=False)
    return b.call("div", total, b.count(terms, None)) if code == MEAN else total


def _difference(b: Builder, x: Value, y: Value) -> Value:
    return b.call("abs", b.call("sub", x, y))


def _squared(b: Builder, x: Value, y: Value, a: Arguments) -> Value:
    return power(b, b.call("sub", x, y), 2)


def _absolute(b: Builder, x: Value, y: Value, a: Arguments) -> Value:
    return _difference(b, x, y)


def _huber(b: Builder, x: Value, y: Value, a: Arguments) -> Value:
    delta, d = a.number("delta", 1), _difference(b, x, y)
    inner = b.call("mul", 0.5, power(b, d, 2))
    outer = b.value(scaled(b, b.call("sub", d, 0.5 * delta), delta))
    return b.call("where", b.call("lt", d, delta), inner, outer)


def _smooth_l1(b: Builder, x: Value, y: Value, a: Arguments) -> Value:
    beta, d = a.number("beta", 1), _difference(b, x, y)
    if beta == 0:
        return d
    inner = b.call("mul", 0.5 / beta, power(b, d, 2))
    return b.call("where", b.call("lt", d, beta), inner, b.call("sub", d, 0.5 * beta))


def _kl(b: Builder, x: Value, y: Value, a: Arguments) -> Value:
    if a.flag("log_target"):
        return b.call("mul", b.call("exp", y), b.call("sub", y, x))
    positive = b.call("gt", y, 0.0)
    log = b.call("log", b.call("where", positive, y, 1.0))
    return b.call("sub", b.call("mul", y, log), b.call("mul", y, x))


def _binary(b: Builder, x: Value, y: Value, a: Arguments) -> Value:
    yes = b.call("max", b.call("log", x), -100.0)
    no = b.call("max", b.call("log1p", b.call("neg", x)), -100.0)
    return b.call("neg", b.call("add", b.call("mul", y, yes), b.call("mul", b.call("sub", 1.0, y), no)))


def _binary_logits(b: Builder, x: Value, y: Value, a: Arguments) -> Value:
    return b.call("sub", softplus(b, x), b.call("mul", x, y))


def _soft_margin(b: Builder, x: Value, y: Value, a: Arguments) -> Value:
    return softplus(b, b.call("neg", b.call("mul", x, y)))


def _nll(b: Builder, log_probability: Value, a: Arguments) -> Value:
    """Rows whose label is `ignore_index` count for nothing, in the sum and in the mean."""
    if a.raw("weight") is not None:
        raise ProposeError(f"{a.node.op} with class weights")
    target, rank = a.tensor("target"), len(log_probability.shape)
    if target.expr.kind != "int" or rank > 2:
        raise ProposeError(f"{a.node.op} with class probabilities or more than two dimensions")
    index = b.reshaped(target, (*target.shape, ()))
    picked = b.at(log_probability, -1, index)
    score = b.call("neg", b.reshaped(picked, picked.shape[:-1]))
    counts = b.call("ne", target, int(a.number("ignore_index", -100)))
    terms = b.call("where", counts, score, 0.0)
    code = a.number("reduction", MEAN)
    if code == NONE:
        return terms
    total = b.reduce("sum", terms, None, keep=False)
    return b.call("div", total, b.reduce("sum", counts, None, keep=False)) if code == MEAN else total


def _cross_entropy(b: Builder, a: Arguments) -> Value:
    if a.number("label_smoothing", 0):
        raise ProposeError(f"{a.node.op} with label smoothing")
    return _nll(b, log_softmax(b, a.tensor("self"), (-1,)), a)


def _nll_loss(b: Builder, a: Arguments) -> Value:
    return _nll(b, a.tensor("self"), a)


LOSSES: dict[str, Rule] = {
    "aten.mse_loss.default": _loss(_squared),
    "aten.l1_loss.default": _loss(_absolute),
    "aten.huber_loss.default": _loss(_huber),
    "aten.smooth_l1_loss.default": _loss(_smooth_l1),
    "aten.kl_div.default": _loss(_kl),
    "aten.binary_cross_entropy.default": _loss(_binary),
    "aten.binary_cross_entropy_with_logits.default": _loss(_binary_logits),
    "aten.soft_margin_loss.default": _loss(_soft_margin),
    "aten.cross_entropy_loss.default": _cross_entropy,
    "aten.nll_loss.default": _nll_loss,
    "aten.nll_loss_nd.default": _nll_loss,
    "aten.nll_loss_forward.default": lambda b, a: (_nll_loss(b, a), None),
}  # fmt: skip
