"""ATen's reductions, softmax and norms as expressions; scans, positions of extrema, and sorts."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from kernelwright.errors import ProposeError
from kernelwright.propose.author.ir.expr import Call, Combine, Expr, Index, Reduce, Scan
from kernelwright.propose.author.ir.positions import whole
from kernelwright.propose.author.read.builder import Arguments, Builder, Operand, Result, Rule, Value, as_float, call
from kernelwright.propose.author.read.pointwise import power
from kernelwright.records.graph import STATISTICS, refs

if TYPE_CHECKING:
    from kernelwright.propose.author.ir.axes import Dim

Dims = Sequence[int] | None


def _reduction(op: Combine) -> Rule:
    return lambda b, a: b.reduce(op, a.tensor("self"), a.dims("dim"), a.flag("keepdim"))


def _mean(b: Builder, a: Arguments) -> Value:
    return b.mean(a.tensor("self"), a.dims("dim"), a.flag("keepdim"))


def variance(x: Value, dims: Dims, keep: bool, correction: float = 0) -> Value:
    """Mean square distance from the mean, in two passes so that a large mean costs no digits."""
    square = power(x - x.b.mean(x, dims, keep=True), 2)
    if correction == 0:
        return x.b.mean(square, dims, keep)
    return x.b.reduce("sum", square, dims, keep) / (x.b.count(x, dims) - correction)


def _correction(a: Arguments) -> float:
    return a.number("correction", 1) if a.raw("unbiased") is None else a.flag("unbiased")


def _var(b: Builder, a: Arguments) -> Value:
    return variance(a.tensor("self"), a.dims("dim"), a.flag("keepdim"), _correction(a))


def softmax(x: Value, dims: Dims) -> Value:
    """exp(x - max) over its sum."""
    weight = call("exp", _shifted(x, dims))
    return weight / x.b.reduce("sum", weight, dims, keep=True)


def _shifted(x: Value, dims: Dims) -> Value:
    return x - x.b.reduce("max", x, dims, keep=True)


def logsumexp(x: Value, dims: Dims, keep: bool) -> Value:
    """The maximum, plus log(sum(exp(x - max))); the maximum alone where it is infinite."""
    total = x.b.reduce("sum", call("exp", _shifted(x, dims)), dims, keep)
    top = x.b.reduce("max", x, dims, keep)
    return call("where", call("eq", call("abs", top), float("inf")), top, call("log", total) + top)


def log_softmax(x: Value, dims: Dims) -> Value:
    """(x - max) - log(sum(exp(x - max)))."""
    shifted = _shifted(x, dims)
    return shifted - call("log", x.b.reduce("sum", call("exp", shifted), dims, keep=True))


def _trailing(a: Arguments) -> Dims:
    shape = a.dims("normalized_shape") or ()
    return range(-len(shape), 0)


def affine(x: Value, weight: Operand | None, bias: Operand | None) -> Value:
    """The value x * weight + bias, each where there is one."""
    x = x if weight is None else x * weight
    return x if bias is None else x + bias


def _layer_norm(b: Builder, a: Arguments) -> tuple[Value, Value, Value]:
    x, dims = a.tensor("input"), _trailing(a)
    mean = b.mean(x, dims, keep=True)
    scale = call("rsqrt", variance(x, dims, keep=True) + a.number("eps", 1e-5))
    return affine((x - mean) * scale, a.optional("weight"), a.optional("bias")), mean, scale


def _rms_norm(b: Builder, a: Arguments) -> tuple[Value, Value]:
    x, dims = a.tensor("input"), _trailing(a)
    scale = call("rsqrt", b.mean(power(x, 2), dims, keep=True) + a.number("eps", 2.0**-23))
    return affine(x * scale, a.optional("weight"), None), scale


def norm(x: Value, order: float, dims: Dims, keep: bool) -> Value:
    """A vector norm.

    Raises:
        ProposeError: an order other than 1, 2 and infinity.
    """
    if order == 1:
        return x.b.reduce("sum", call("abs", x), dims, keep)
    if order == 2:
        return call("sqrt", x.b.reduce("sum", power(x, 2), dims, keep))
    if order == float("inf"):
        return x.b.reduce("amax", call("abs", x), dims, keep)
    raise ProposeError(f"a vector norm of order {order}")


def _norm(order: str) -> Rule:
    return lambda b, a: norm(a.tensor("self"), a.number(order, 2), a.dims("dim"), a.flag("keepdim"))


def _weight_norm(b: Builder, a: Arguments) -> Value:
    """A weight of the length `g` along one dimension; of -1, in all."""
    v, dim = a.tensor("v"), a.integer("dim")
    if dim == 0 and len(v.shape) == 1:
        raise ProposeError("a weight norm of a vector's elements")
    others = tuple(d for d in range(len(v.shape)) if dim not in (d, -1))
    return v * (a.tensor("g") / norm(v, 2, others, keep=True))


REDUCTIONS: dict[str, Rule] = {
    "aten.sum.default": _reduction("sum"), "aten.sum.dim_IntList": _reduction("sum"),
    "aten.amax.default": _reduction("amax"), "aten.amin.default": _reduction("amin"),
    "aten.max.default": _reduction("amax"), "aten.min.default": _reduction("amin"),
    "aten.mean.default": _mean, "aten.mean.dim": _mean,
    **{f"aten.var.{form}": _var for form in ("default", "dim", "correction")},
    **{f"aten.std.{form}": lambda b, a: call("sqrt", _var(b, a)) for form in ("default", "dim", "correction")},
    "aten.var_mean.correction": lambda b, a: (_var(b, a), _mean(b, a)),
    **dict.fromkeys(("aten.softmax.int", "aten._softmax.default"), lambda b, a: softmax(a.tensor("self"), a.dims("dim"))),
    **dict.fromkeys(("aten.log_softmax.int", "aten._log_softmax.default"),
                    lambda b, a: log_softmax(a.tensor("self"), a.dims("dim"))),
    "aten.logsumexp.default": lambda b, a: logsumexp(a.tensor("self"), a.dims("dim"), a.flag("keepdim")),
    "aten.layer_norm.default": lambda b, a: _layer_norm(b, a)[0], "aten.native_layer_norm.default": _layer_norm,
    "aten.rms_norm.default": lambda b, a: _rms_norm(b, a)[0], "aten._fused_rms_norm.default": _rms_norm,
    "aten.linalg_vector_norm.default": _norm("ord"), "aten._weight_norm.default": _weight_norm,
    "aten.norm.Scalar": _norm("p"), "aten.norm.ScalarOpt_dim": _norm("p"),
    "aten.gather.default": lambda b, a: b.at(a.tensor("self"), a.integer("dim", -1), a.tensor("index")),
}  # fmt: skip

LAST = 2**31 - 1
"""The place of an element that is no extremum: behind all others."""
WITH_NAN: dict[Combine, Combine] = {"max": "amax", "min": "amin"}


def _along(b: Builder, a: Arguments) -> tuple[Value, int]:
    """What is scanned, and along which axis."""
    x = a.tensor("self")
    axes = b.axes.resolve(x.shape[a.integer("dim")])
    if len(axes) != 1:
        raise ProposeError("a scan over a merged dimension")
    return x if x.expr.kind == "int" else x.with_expr(as_float(x.expr)), axes[0]


def _scan(op: Combine) -> Rule:
    def rule(b: Builder, a: Arguments) -> Value:
        x, axis = _along(b, a)
        return x.with_expr(Scan(op, x.expr, axis, wide=a.raw("dtype") == "float64", kind=x.expr.kind))

    return rule


def _running_extreme(op: Combine) -> Rule:
    """The extremum so far, and where the last one of those lies; a NaN is one."""

    def rule(b: Builder, a: Arguments) -> Result:
        (x, axis), given = _along(b, a), a.tensor("self").expr
        best = Scan(op, x.expr, axis, kind=x.expr.kind)
        hit = Call("or", (Call("eq", (given, best), "bool"), Call("ne", (given, given), "bool")), "bool")
        place = Call("where", (hit, Index(axis), whole(0)), "int")
        return x.with_expr(best), x.with_expr(Scan("max", place, axis, kind="int"))

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
    return b.new(found, shape)


def _place(op: Combine) -> Rule:
    return lambda b, a: place_of(b, a.tensor("self"), op, a.dims("dim"), a.flag("keepdim"))


def _extreme_of_dim(op: Combine) -> Rule:
    def rule(b: Builder, a: Arguments) -> Result:
        x, dims, keep = a.tensor("self"), a.dims("dim"), a.flag("keepdim")
        return b.reduce(WITH_NAN[op], x, dims, keep), place_of(b, x, op, dims, keep)

    return rule


TRUTHS: dict[str, Combine] = {"any": "max", "all": "min"}


def _truth(op: Combine) -> Rule:
    def rule(b: Builder, a: Arguments) -> Value:
        x = a.tensor("self")
        truths = x if x.expr.kind == "bool" else call("ne", x, 0.0)
        return b.reduce(op, truths, a.dims("dim"), a.flag("keepdim")) > 0.5

    return rule


def _normal(x: Value, over: Sequence[int], eps: float) -> Value:
    spread = variance(x, over, keep=True) + eps
    return (x - x.b.mean(x, over, keep=True)) * call("rsqrt", spread)


def _of_channels(vector: Value, rank: int) -> Value:
    """A vector of channels, as dimension 1 of so many."""
    return vector.shaped((vector.shape[0], *((),) * (rank - 2)))


def _scaled(x: Value, a: Arguments) -> Value:
    """Times the weights of channels, plus their biases."""
    weight, bias = (None if v is None else _of_channels(v, len(x.shape)) for v in map(a.optional, ("weight", "bias")))
    return affine(x, weight, bias)


def _group_norm(b: Builder, a: Arguments) -> Value:
    x = a.tensor("input")
    split = x.spliced(1, *b.axes.view((x.shape[1],), (a.integer("num_groups", 1), -1)))
    normal = _normal(split, range(2, len(split.shape)), a.number("eps", 1e-5))
    return _scaled(normal.merged(1), a)


def _instance_norm(b: Builder, a: Arguments) -> Value:
    x = a.tensor("input")
    if not a.flag("use_input_stats", default=True):
        return _with_statistics(a, x)
    if a.optional("running_mean") is not None:
        raise ProposeError("a norm that changes its running statistics")
    return _scaled(_normal(x, range(2, len(x.shape)), a.number("eps", 1e-5)), a)


def _batch_norm(b: Builder, a: Arguments) -> Value:
    x, tracked = a.tensor("input"), a.optional("running_mean") is not None
    if not a.flag("training") and tracked:
        return _with_statistics(a, x)
    over = [d for d in range(len(x.shape)) if d != 1]
    if tracked:
        _track(b, a, x, over)
    return _scaled(_normal(x, over, a.number("eps", 1e-5)), a)


def _functional(b: Builder, a: Arguments) -> Result:
    """With the new statistics among its results."""
    found = _batch_norm(b, a)
    after = [a.changed.pop(ref.ref) for name in STATISTICS for ref in refs(a.raw(name)) if ref.ref in a.changed]
    return (found, None, None, *after)


def _track(b: Builder, a: Arguments, x: Value, over: Sequence[int]) -> None:
    """Move the running statistics towards the batch's, as far as `momentum` says; the variance there is the unbiased one."""
    share = a.number("momentum", 0.1)
    batch = {"running_mean": b.mean(x, over, keep=False), "running_var": variance(x, over, keep=False, correction=1)}
    for name, new in batch.items():
        kept = a.tensor(name) * (1.0 - share)
        a.becomes(name, kept + new * share)


def _with_statistics(a: Arguments, x: Value) -> Value:
    if a.raw("running_mean") is None or a.raw("running_var") is None:
        raise ProposeError("a norm without statistics")
    mean, spread = (_of_channels(a.tensor(name), len(x.shape)) for name in ("running_mean", "running_var"))
    return _scaled((x - mean) * call("rsqrt", spread + a.number("eps", 1e-5)), a)


def _prelu(b: Builder, a: Arguments) -> Value:
    x, weight = a.tensor("self"), a.tensor("weight")
    weight = _of_channels(weight, len(x.shape)) if len(x.shape) > 1 and weight.shape[0] else weight
    return call("where", x > 0.0, x, x * weight)


ORDERS: dict[str, Rule] = {
    "aten.cumsum.default": _scan("sum"), "aten.cumprod.default": _scan("prod"),
    "aten.cummax.default": _running_extreme("max"), "aten.cummin.default": _running_extreme("min"),
    "aten.argmax.default": _place("max"), "aten.argmin.default": _place("min"),
    "aten.max.dim": _extreme_of_dim("max"), "aten.min.dim": _extreme_of_dim("min"),
    **{f"aten.{name}.{form}": _truth(op) for name, op in TRUTHS.items() for form in ("default", "dim", "dims")},
    "aten.prod.default": lambda b, a: b.reduce("prod", a.tensor("self"), None, keep=False),
    "aten.prod.dim_int": lambda b, a: b.reduce("prod", a.tensor("self"), a.dims("dim"), a.flag("keepdim")),
    "aten.group_norm.default": _group_norm, "aten.instance_norm.default": _instance_norm,
    "aten.batch_norm.default": _batch_norm,
    "aten._native_batch_norm_legit_functional.default": _functional,
    "aten._native_batch_norm_legit_no_training.default": _functional, "aten.prelu.default": _prelu,
}  # fmt: skip

What = Literal["value", "place"]
"""What a sort tells of an element."""


@dataclass(frozen=True)
class Sorting:
    """The first places of a sorted dimension."""

    value: Value
    dim: int
    count: int
    descending: bool
    results: tuple[What, ...]


Sort = Callable[[Builder, Arguments], Sorting]
"""How one of ATen's sorts is read."""


def _sort(results: tuple[What, ...], order: str = "descending", default: bool = False, dim: int = -1) -> Sort:
    """A sort along a dimension, from the largest element on where the argument `order` says so."""

    def rule(b: Builder, a: Arguments) -> Sorting:
        x = a.tensor("self")
        if not x.shape:
            raise ProposeError("a sort of a single element")
        along = a.integer("dim", dim) % len(x.shape)
        count = a.integer("k", x.size(along))
        if x.size(along) < 2 or not 0 < count <= x.size(along) or x.expr.kind == "bool":
            raise ProposeError("a sort of a single element, or of truths")
        return Sorting(b.renamed(x), along, count, a.flag(order, default), results)

    return rule


SORTS: dict[str, Sort] = {
    "aten.topk.default": _sort(("value", "place"), "largest", True),
    "aten.sort.default": _sort(("value", "place")), "aten.sort.stable": _sort(("value", "place")),
    "aten.argsort.default": _sort(("place",)), "aten.argsort.stable": _sort(("place",)),
    "aten.msort.default": _sort(("value",), dim=0),
}  # fmt: skip
