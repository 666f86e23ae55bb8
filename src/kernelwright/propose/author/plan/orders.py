"""PyTorch's operations that follow an order: scans and positions of extrema; and norms over groups and batches."""

from collections.abc import Sequence

from kernelwright.errors import ProposeError
from kernelwright.propose.author.plan.builder import Arguments, Builder, Dim, Result, Rule, Value, as_float
from kernelwright.propose.author.plan.expr import Call, Combine, Expr, Index, Reduce, Scan
from kernelwright.propose.author.plan.losses import reduced
from kernelwright.propose.author.plan.operations import affine, norm, power, variance
from kernelwright.propose.author.plan.positions import whole

LAST = 2**31 - 1
"""The place of an element that is no extremum: behind all others."""
WITH_NAN: dict[Combine, Combine] = {"max": "amax", "min": "amin"}


def _scan(op: Combine) -> Rule:
    def rule(b: Builder, a: Arguments) -> Value:
        x, dim = a.tensor("self"), int(a.number("dim", 0))
        dims = b.axes.resolve(x.shape[dim])
        if len(dims) != 1:
            raise ProposeError("a scan over a merged dimension")
        expr = x.expr if x.expr.kind == "int" else as_float(x.expr)
        return Value(Scan(op, expr, dims[0], wide=a.raw("dtype") == "float64", kind=expr.kind), x.shape)

    return rule


def _running_extreme(op: Combine) -> Rule:
    """The extremum so far, and where the last one of those lies; a NaN is one."""

    def rule(b: Builder, a: Arguments) -> Result:
        x = a.tensor("self")
        dims = b.axes.resolve(x.shape[int(a.number("dim", 0))])
        if len(dims) != 1:
            raise ProposeError("a scan over a merged dimension")
        expr = x.expr if x.expr.kind == "int" else as_float(x.expr)
        best = Scan(op, expr, dims[0], kind=expr.kind)
        hit = Call("or", (Call("eq", (x.expr, best), "bool"), Call("ne", (x.expr, x.expr), "bool")), "bool")
        place = Call("where", (hit, Index(dims[0]), whole(0)), "int")
        return Value(best, x.shape), Value(Scan("max", place, dims[0], kind="int"), x.shape)

    return rule


def place_of(b: Builder, x: Value, op: Combine, dims: Sequence[int] | None, keep: bool) -> Value:
    """Where the first extremum lies; a NaN is one."""
    rank = len(x.shape)
    chosen = sorted(d % rank for d in dims) if dims is not None else list(range(rank))
    best = b.reduce(WITH_NAN[op], x, chosen, keep=True)  # where it is a NaN, only NaNs are hits
    merged: Dim = tuple(axis for d in chosen for axis in x.shape[d])
    hit: Expr = Call("eq", (x.expr, best.expr), "bool")
    if x.expr.kind == "float":
        hit = Call("or", (hit, Call("ne", (x.expr, x.expr), "bool")), "bool")
    places = Call("where", (hit, b.position(merged), whole(LAST)), "int")
    found: Expr = Reduce("min", places, merged, "int") if merged else whole(0)
    shape = tuple(() if d in chosen else dim for d, dim in enumerate(x.shape) if keep or d not in chosen)
    return Value(found, shape)


def _place(op: Combine) -> Rule:
    def rule(b: Builder, a: Arguments) -> Value:
        dim = a.dims("dim")
        return place_of(b, a.tensor("self"), op, dim, a.flag("keepdim"))

    return rule


def _extreme_of_dim(op: Combine) -> Rule:
    def rule(b: Builder, a: Arguments) -> Result:
        x, dims, keep = a.tensor("self"), a.dims("dim"), a.flag("keepdim")
        return b.reduce(WITH_NAN[op], x, dims, keep), place_of(b, x, op, dims, keep)

    return rule


def _truth(op: Combine) -> Rule:
    def rule(b: Builder, a: Arguments) -> Value:
        x = a.tensor("self")
        truths = x if x.expr.kind == "bool" else b.call("ne", x, 0.0)
        return b.call("gt", b.reduce(op, truths, a.dims("dim"), a.flag("keepdim")), 0.5)

    return rule


def _grouped_norm(b: Builder, x: Value, over: Sequence[int], eps: float) -> Value:
    spread = b.call("add", variance(b, x, over, keep=True), eps)
    return b.call("mul", b.call("sub", x, b.mean(x, over, keep=True)), b.call("rsqrt", spread))


def _of_channels(b: Builder, vector: Value | None, rank: int) -> Value | None:
    """A vector of channels, as dimension 1 of so many."""
    return None if vector is None else b.reshaped(vector, (vector.shape[0], *((),) * (rank - 2)))


def _group_norm(b: Builder, a: Arguments) -> Value:
    x, groups = a.tensor("input"), int(a.number("num_groups", 1))
    parts = b.axes.view((x.shape[1],), (groups, -1))
    split = b.reshaped(x, (x.shape[0], *parts, *x.shape[2:]))
    normal = _grouped_norm(b, split, range(2, len(split.shape)), a.number("eps", 1e-5))
    shape = normal.shape
    whole_again = b.reshaped(normal, (shape[0], (*shape[1], *shape[2]), *shape[3:]))
    rank = len(x.shape)
    weight, bias = (_of_channels(b, a.optional(name), rank) for name in ("weight", "bias"))
    return affine(b, whole_again, weight, bias)


def _instance_norm(b: Builder, a: Arguments) -> Value:
    x, rank = a.tensor("input"), len(a.tensor("input").shape)
    weight, bias = (_of_channels(b, a.optional(name), rank) for name in ("weight", "bias"))
    if not a.flag("use_input_stats", default=True):
        return _with_statistics(b, a, x)
    if a.optional("running_mean") is not None:
        raise ProposeError("a norm that changes its running statistics")
    return affine(b, _grouped_norm(b, x, range(2, rank), a.number("eps", 1e-5)), weight, bias)


def _batch_norm(b: Builder, a: Arguments) -> Value:
    x, rank = a.tensor("input"), len(a.tensor("input").shape)
    if not a.flag("training") and a.optional("running_mean") is not None:
        return _with_statistics(b, a, x)
    weight, bias = (_of_channels(b, a.optional(name), rank) for name in ("weight", "bias"))
    over = [d for d in range(rank) if d != 1]
    if a.optional("running_mean") is not None:
        _track(b, a, x, over)
    return affine(b, _grouped_norm(b, x, over, a.number("eps", 1e-5)), weight, bias)


def _track(b: Builder, a: Arguments, x: Value, over: Sequence[int]) -> None:
    """Move the running statistics towards the batch's, as far as `momentum` says; the variance there is the unbiased one."""
    share = a.number("momentum", 0.1)
    batch = {"running_mean": b.mean(x, over, keep=False), "running_var": variance(b, x, over, keep=False, correction=1)}
    for name, new in batch.items():
        kept = b.call("mul", a.tensor(name), 1.0 - share)
        a.becomes(name, b.call("add", kept, b.call("mul", new, share)))


def _with_statistics(b: Builder, a: Arguments, x: Value) -> Value:
    rank = len(x.shape)
    mean, spread = (_of_channels(b, a.tensor(name), rank) for name in ("running_mean", "running_var"))
    if mean is None or spread is None:
        raise ProposeError("a norm without statistics")
    scale = b.call("rsqrt", b.call("add", spread, a.number("eps", 1e-5)))
    weight, bias = (_of_channels(b, a.optional(name), rank) for name in ("weight", "bias"))
    return affine(b, b.call("mul", b.call("sub", x, mean), scale), weight, bias)


def _prelu(b: Builder, a: Arguments) -> Value:
    x, weight = a.tensor("self"), a.tensor("weight")
    rank = len(x.shape)
    if rank > 1 and weight.shape[0]:
        weight = b.reshaped(weight, (weight.shape[0], *((),) * (rank - 2)))
    return b.call("where", b.call("gt", x, 0.0), x, b.call("mul", x, weight))


def _similarity(b: Builder, a: Arguments) -> Value:
    x, y, dims = a.tensor("x1"), a.tensor("x2"), a.dims("dim") or (1,)
    (x, y), shape = b.aligned([x, y])
    x, y = Value(x.expr, shape), Value(y.expr, shape)
    eps = a.number("eps", 1e-8)
    dot = b.reduce("sum", b.call("mul", x, y), dims, keep=False)
    lengths = [b.call("max", norm(b, v, 2, dims, keep=False), eps) for v in (x, y)]
    return b.call("div", dot, b.call("mul", lengths[0], lengths[1]))


def _distance(b: Builder, x: Value, y: Value, order: float, eps: float) -> Value:
    return norm(b, b.call("add", b.call("sub", x, y), eps), order, (-1,), keep=False)


def _triplet(b: Builder, a: Arguments) -> Value:
    anchor, positive, negative = (a.tensor(name) for name in ("anchor", "positive", "negative"))
    order, eps = a.number("p", 2), a.number("eps", 1e-6)
    near, far = _distance(b, anchor, positive, order, eps), _distance(b, anchor, negative, order, eps)
    if a.flag("swap"):
        far = b.call("min", far, _distance(b, positive, negative, order, eps))
    terms = b.call("max", b.call("add", b.call("sub", near, far), a.number("margin", 1)), 0.0)
    return reduced(b, terms, a)


def _cosine_loss(b: Builder, a: Arguments) -> Value:
    x, y, target = a.tensor("input1"), a.tensor("input2"), a.tensor("target")
    dot = b.reduce("sum", b.call("mul", x, y), (-1,), keep=False)
    squares = [b.call("add", b.reduce("sum", power(b, v, 2), (-1,), keep=False), 1e-12) for v in (x, y)]
    cosine = b.call("div", dot, b.call("sqrt", b.call("mul", squares[0], squares[1])))
    apart = b.call("max", b.call("sub", cosine, a.number("margin", 0)), 0.0)
    together = b.call("where", b.call("eq", target, 1), b.call("sub", 1.0, cosine), 0.0)
    return reduced(b, b.call("where", b.call("eq", target, -1), apart, together), a)


def _margin_ranking(b: Builder, a: Arguments) -> Value:
    gap = b.call("sub", a.tensor("input1"), a.tensor("input2"))
    signed = b.call("neg", b.call("mul", a.tensor("target"), gap))
    return reduced(b, b.call("max", b.call("add", signed, a.number("margin", 0)), 0.0), a)


def _hinge_embedding(b: Builder, a: Arguments) -> Value:
    x, target = a.tensor("self"), a.tensor("target")
    beyond = b.call("max", b.call("sub", a.number("margin", 1), x), 0.0)
    far = b.call("where", b.call("ne", target, 1), beyond, 0.0)
    return reduced(b, b.call("add", far, b.call("where", b.call("ne", target, -1), x, 0.0)), a)


ORDERS: dict[str, Rule] = {
    "aten.cumsum.default": _scan("sum"), "aten.cumprod.default": _scan("prod"),
    "aten.cummax.default": _running_extreme("max"), "aten.cummin.default": _running_extreme("min"),
    "aten.argmax.default": _place("max"), "aten.argmin.default": _place("min"),
    "aten.max.dim": _extreme_of_dim("max"), "aten.min.dim": _extreme_of_dim("min"),
    "aten.any.default": _truth("max"), "aten.any.dim": _truth("max"), "aten.any.dims": _truth("max"),
    "aten.all.default": _truth("min"), "aten.all.dim": _truth("min"), "aten.all.dims": _truth("min"),
    "aten.prod.default": lambda b, a: b.reduce("prod", a.tensor("self"), None, keep=False),
    "aten.prod.dim_int": lambda b, a: b.reduce("prod", a.tensor("self"), a.dims("dim"), a.flag("keepdim")),
    "aten.group_norm.default": _group_norm, "aten.instance_norm.default": _instance_norm,
    "aten.batch_norm.default": _batch_norm, "aten.prelu.default": _prelu,
    "aten.cosine_similarity.default": _similarity,
    "aten.pairwise_distance.default": lambda b, a: norm(
        b, b.call("add", b.call("sub", a.tensor("x1"), a.tensor("x2")), a.number("eps", 1e-6)),
        a.number("p", 2), (-1,), a.flag("keepdim"),
    ),
    "aten.triplet_margin_loss.default": _triplet, "aten.cosine_embedding_loss.default": _cosine_loss,
    "aten.margin_ranking_loss.default": _margin_ranking, "aten.hinge_embedding_loss.default": _hinge_embedding,
}  # fmt: skip
