"""PyTorch's losses as expressions: a term for each element or row, and how the terms are reduced."""

from collections.abc import Callable

from kernelwright.errors import ProposeError
from kernelwright.propose.author.plan.builder import Arguments, Builder, Rule, Value
from kernelwright.propose.author.plan.operations import log_softmax, power, scaled
from kernelwright.propose.author.plan.softplus import softplus

Term = Callable[[Builder, Value, Value, Arguments], Value]
NONE, MEAN = 0, 1
"""ATen's codes of a loss's reduction; 2 is the sum."""


def _loss(term: Term) -> Rule:
    def rule(b: Builder, a: Arguments) -> Value:
        terms, weight = term(b, a.tensor("self"), a.tensor("target"), a), a.optional("weight")
        return reduced(b, terms if weight is None else b.call("mul", terms, weight), a)

    return rule


def reduced(b: Builder, terms: Value, a: Arguments) -> Value:
    """A loss's terms as they are, their mean, or their sum."""
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


def _binary_entropy(b: Builder, x: Value, y: Value, a: Arguments) -> Value:
    yes = b.call("max", b.call("log", x), -100.0)
    no = b.call("max", b.call("log1p", b.call("neg", x)), -100.0)
    return b.call("neg", b.call("add", b.call("mul", y, yes), b.call("mul", b.call("sub", 1.0, y), no)))


def _binary_logits(b: Builder, x: Value, y: Value, a: Arguments) -> Value:
    positive = a.optional("pos_weight")
    if positive is not None:
        hits = b.call("mul", b.call("mul", positive, y), softplus(b, b.call("neg", x)))
        return b.call("add", hits, b.call("mul", b.call("sub", 1.0, y), softplus(b, x)))
    return b.call("sub", softplus(b, x), b.call("mul", x, y))


def _soft_margin(b: Builder, x: Value, y: Value, a: Arguments) -> Value:
    return softplus(b, b.call("neg", b.call("mul", x, y)))


def _nll(b: Builder, log_probability: Value, a: Arguments, smoothing: float = 0.0) -> Value:
    """Rows whose label is `ignore_index` count for nothing, in the sum and in the mean."""
    target, rank = a.tensor("target"), len(log_probability.shape)
    if target.expr.kind != "int":
        raise ProposeError(f"{a.node.op} with labels that are not whole")
    classes = 1 if rank > 1 else 0
    score = b.call("neg", _picked(b, log_probability, target, classes))
    weight = a.optional("weight")
    each = None if weight is None else _picked(b, _as_classes(b, weight, rank), target, classes)
    score = score if each is None else b.call("mul", score, each)
    if smoothing:
        score = _smoothed(b, log_probability, score, weight, smoothing)
    counts = b.call("ne", target, int(a.number("ignore_index", -100)))
    terms = b.call("where", counts, score, 0.0)
    code = a.number("reduction", MEAN)
    if code == NONE:
        return terms
    total = b.reduce("sum", terms, None, keep=False)
    share = counts if each is None else b.call("where", counts, each, 0.0)
    return b.call("div", total, b.reduce("sum", share, None, keep=False)) if code == MEAN else total


def _picked(b: Builder, of: Value, target: Value, classes: int) -> Value:
    """The element of each row's class."""
    index = b.reshaped(target, (*target.shape[:classes], (), *target.shape[classes:]))
    picked = b.at(of, classes, index)
    return b.reshaped(picked, (*picked.shape[:classes], *picked.shape[classes + 1 :]))


def _as_classes(b: Builder, weight: Value, rank: int) -> Value:
    """A vector of classes with as many dimensions as the scores."""
    ones = ((),) * (rank - 2)
    return b.reshaped(weight, (*((),) * min(rank - 1, 1), weight.shape[0], *ones))


def _smoothed(b: Builder, log_probability: Value, score: Value, weight: Value | None, share: float) -> Value:
    """The score with a share of every class's in it."""
    rank = len(log_probability.shape)
    classes = 1 if rank > 1 else 0
    every = log_probability if weight is None else b.call("mul", log_probability, _as_classes(b, weight, rank))
    mean = b.call("neg", b.mean(every, (classes,), keep=False))
    return b.call("add", b.call("mul", score, 1.0 - share), b.call("mul", mean, share))


def _cross_entropy(b: Builder, a: Arguments) -> Value:
    x, target = a.tensor("self"), a.tensor("target")
    classes = 1 if len(x.shape) > 1 else 0
    found, smoothing = log_softmax(b, x, (classes,)), a.number("label_smoothing", 0)
    if target.expr.kind == "int":
        return _nll(b, found, a, smoothing)
    if a.raw("weight") is not None:
        raise ProposeError(f"{a.node.op} with class weights and probabilities")
    wanted = target
    if smoothing:
        even = b.call("div", smoothing, b.count(found, (classes,)))
        wanted = b.call("add", b.call("mul", target, 1.0 - smoothing), even)
    terms = b.call("neg", b.reduce("sum", b.call("mul", found, wanted), (classes,), keep=False))
    return reduced(b, terms, a)


def _nll_loss(b: Builder, a: Arguments) -> Value:
    return _nll(b, a.tensor("self"), a)


LOSSES: dict[str, Rule] = {
    "aten.mse_loss.default": _loss(_squared),
    "aten.l1_loss.default": _loss(_absolute),
    "aten.huber_loss.default": _loss(_huber),
    "aten.smooth_l1_loss.default": _loss(_smooth_l1),
    "aten.kl_div.default": _loss(_kl),
    "aten.binary_cross_entropy.default": _loss(_binary_entropy),
    "aten.binary_cross_entropy_with_logits.default": _loss(_binary_logits),
    "aten.soft_margin_loss.default": _loss(_soft_margin),
    "aten.cross_entropy_loss.default": _cross_entropy,
    "aten.nll_loss.default": _nll_loss,
    "aten.nll_loss_nd.default": _nll_loss,
    "aten.nll_loss_forward.default": lambda b, a: (_nll_loss(b, a), None),
}  # fmt: skip
