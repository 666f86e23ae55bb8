"""Losses: a pointwise term or a row's score, then none, mean or sum of them."""

from collections.abc import Callable

from kernelwright.errors import ProposeError
from kernelwright.propose.author.plan.arguments import Arguments, Result
from kernelwright.propose.author.plan.builder import Builder, Value
from kernelwright.propose.author.plan.pointwise import power, scaled, softplus
from kernelwright.propose.author.plan.reductions import log_softmax

Rule = Callable[[Builder, Arguments], Result]
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
