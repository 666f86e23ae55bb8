"""PyTorch's losses as expressions: a term for each element or row, and how the terms are reduced."""

from kernelwright.errors import ProposeError
from kernelwright.propose.author.read.builder import Arguments, Builder, Rule, Value, call, formula
from kernelwright.propose.author.read.pointwise import power, scaled, softplus
from kernelwright.propose.author.read.reductions import log_softmax, norm

NONE, MEAN = 0, 1
"""ATen's codes of a loss's reduction; 2 is the sum."""


def _loss(term: Rule) -> Rule:
    """A loss of such terms, each times its weight, if there are weights."""

    def rule(b: Builder, a: Arguments) -> Value:
        terms, weight = term(b, a), a.optional("weight")
        assert isinstance(terms, Value)
        return reduced(terms if weight is None else terms * weight, a)

    return rule


def reduced(terms: Value, a: Arguments, count: Value | None = None) -> Value:
    """A loss's terms as they are, their mean, or their sum; `count`: what the mean divides by, if not by all."""
    code = a.number("reduction", MEAN)
    if code == NONE:
        return terms
    total = terms.b.reduce("sum", terms, None, keep=False)
    return total / (terms.b.count(terms, None) if count is None else count) if code == MEAN else total


def _huber(self: Value, target: Value, delta: float = 1) -> Value:
    d = call("abs", self - target)
    return call("where", d < delta, 0.5 * power(d, 2), scaled(self.b, d - 0.5 * delta, delta))


def _smooth_l1(self: Value, target: Value, beta: float = 1) -> Value:
    d = call("abs", self - target)
    return d if beta == 0 else call("where", d < beta, 0.5 / beta * power(d, 2), d - 0.5 * beta)


def _kl(self: Value, target: Value, log_target: float = False) -> Value:
    if log_target:
        return call("exp", target) * (target - self)
    return target * call("log", call("where", target > 0.0, target, 1.0)) - target * self


def _binary_entropy(self: Value, target: Value) -> Value:
    yes, no = call("max", call("log", self), -100.0), call("max", call("log1p", -self), -100.0)
    return -(target * yes + (1.0 - target) * no)


def _hinge_embedding(self: Value, target: Value, margin: float = 1) -> Value:
    far = call("where", call("ne", target, 1), call("max", margin - self, 0.0), 0.0)
    return far + call("where", call("ne", target, -1), self, 0.0)


def _binary_logits(b: Builder, a: Arguments) -> Value:
    x, y, positive = a.tensor("self"), a.tensor("target"), a.optional("pos_weight")
    if positive is None:
        return softplus(x) - x * y
    return positive * y * softplus(-x) + (1.0 - y) * softplus(x)


def _nll(b: Builder, log_probability: Value, a: Arguments, smoothing: float = 0.0) -> Value:
    """Rows whose label is `ignore_index` count for nothing, in the sum and in the mean."""
    target, rank = a.tensor("target"), len(log_probability.shape)
    if target.expr.kind != "int":
        raise ProposeError(f"{a.node.op} with labels that are not whole")
    classes = 1 if rank > 1 else 0
    weight, score = a.optional("weight"), -_picked(b, log_probability, target, classes)
    weight = (
        None if weight is None else weight.shaped((*((),) * min(rank - 1, 1), weight.shape[0], *((),) * (rank - 2)))
    )
    each = None if weight is None else _picked(b, weight, target, classes)
    score = score if each is None else score * each
    if smoothing:
        every = log_probability if weight is None else log_probability * weight
        score = score * (1.0 - smoothing) + -b.mean(every, (classes,), keep=False) * smoothing
    counts = b.call("ne", target, a.integer("ignore_index", -100))
    terms = b.call("where", counts, score, 0.0)
    share = counts if each is None else b.call("where", counts, each, 0.0)
    return reduced(terms, a, b.reduce("sum", share, None, keep=False))


def _picked(b: Builder, of: Value, target: Value, classes: int) -> Value:
    """The element of each row's class."""
    index = target.shaped((*target.shape[:classes], (), *target.shape[classes:]))
    return b.at(of, classes, index).spliced(classes)


def _cross_entropy(b: Builder, a: Arguments) -> Value:
    x, target = a.tensor("self"), a.tensor("target")
    classes = 1 if len(x.shape) > 1 else 0
    found, smoothing = log_softmax(x, (classes,)), a.number("label_smoothing", 0)
    if target.expr.kind == "int":
        return _nll(b, found, a, smoothing)
    if a.raw("weight") is not None:
        raise ProposeError(f"{a.node.op} with class weights and probabilities")
    if smoothing:
        target = target * (1.0 - smoothing) + smoothing / b.count(found, (classes,))
    return reduced(-b.reduce("sum", found * target, (classes,), keep=False), a)


def _similarity(b: Builder, a: Arguments) -> Value:
    x, y, dims = a.tensor("x1"), a.tensor("x2"), a.dims("dim") or (1,)
    (x, y), shape = b.aligned([x, y])
    x, y, eps = x.shaped(shape), y.shaped(shape), a.number("eps", 1e-8)
    lengths = [call("max", norm(v, 2, dims, keep=False), eps) for v in (x, y)]
    return b.reduce("sum", x * y, dims, keep=False) / (lengths[0] * lengths[1])


def _distance(x1: Value, x2: Value, p: float = 2, eps: float = 1e-6, keepdim: float = False) -> Value:
    return norm(x1 - x2 + eps, p, (-1,), keep=bool(keepdim))


def _triplet(b: Builder, a: Arguments) -> Value:
    anchor, positive, negative = (a.tensor(name) for name in ("anchor", "positive", "negative"))
    order, eps = a.number("p", 2), a.number("eps", 1e-6)
    near, far = _distance(anchor, positive, order, eps), _distance(anchor, negative, order, eps)
    if a.flag("swap"):
        far = call("min", far, _distance(positive, negative, order, eps))
    return reduced(call("max", near - far + a.number("margin", 1), 0.0), a)


def _cosine_loss(b: Builder, a: Arguments) -> Value:
    x, y, target = a.tensor("input1"), a.tensor("input2"), a.tensor("target")
    dot = b.reduce("sum", x * y, (-1,), keep=False)
    squares = [b.reduce("sum", power(v, 2), (-1,), keep=False) + 1e-12 for v in (x, y)]
    cosine = dot / call("sqrt", squares[0] * squares[1])
    apart = call("max", cosine - a.number("margin", 0), 0.0)
    together = call("where", call("eq", target, 1), 1.0 - cosine, 0.0)
    return reduced(call("where", call("eq", target, -1), apart, together), a)


LOSSES: dict[str, Rule] = {
    "aten.mse_loss.default": _loss(formula(lambda self, target: power(self - target, 2))),
    "aten.l1_loss.default": _loss(formula(lambda self, target: call("abs", self - target))),
    "aten.huber_loss.default": _loss(formula(_huber)),
    "aten.smooth_l1_loss.default": _loss(formula(_smooth_l1)),
    "aten.kl_div.default": _loss(formula(_kl)),
    "aten.binary_cross_entropy.default": _loss(formula(_binary_entropy)),
    "aten.binary_cross_entropy_with_logits.default": _loss(_binary_logits),
    "aten.soft_margin_loss.default": _loss(formula(lambda self, target: softplus(-(self * target)))),
    "aten.cross_entropy_loss.default": _cross_entropy,
    **dict.fromkeys(("aten.nll_loss.default", "aten.nll_loss_nd.default"), lambda b, a: _nll(b, a.tensor("self"), a)),
    "aten.nll_loss_forward.default": lambda b, a: (_nll(b, a.tensor("self"), a), None),
    "aten.cosine_similarity.default": _similarity,
    "aten.pairwise_distance.default": formula(_distance),
    "aten.triplet_margin_loss.default": _triplet, "aten.cosine_embedding_loss.default": _cosine_loss,
    "aten.margin_ranking_loss.default": _loss(
        formula(lambda input1, input2, target, margin=0: call("max", -(target * (input1 - input2)) + margin, 0.0))
    ),
    "aten.hinge_embedding_loss.default": _loss(formula(_hinge_embedding)),
}  # fmt: skip
