"""Operations that move no data: identities, casts and views that keep the order of elements."""

from kernelwright.errors import ProposeError
from kernelwright.propose.author.plan.arguments import Arguments, Result
from kernelwright.propose.author.plan.builder import Builder, Value, as_float
from kernelwright.propose.author.plan.reductions import Rule


def _same(b: Builder, a: Arguments) -> Value:
    name = "self" if a.raw("self") is not None else "input"
    return a.tensor(name)


def _dropout(b: Builder, a: Arguments) -> Value:
    if a.flag("train", default=True) and a.number("p", 0.5):
        raise ProposeError("dropout in training mode, which is random")
    return a.tensor("input")


def _cast(b: Builder, a: Arguments) -> Value:
    """Intermediate roundings to half precision are left out: they only lose accuracy."""
    x = a.tensor("self")
    wanted = a.raw("dtype")
    if wanted in (None, "float32", "float16", "bfloat16"):
        return x if wanted is None else Value(as_float(x.expr), x.shape)
    if wanted in ("int64", "int32", "bool") and x.expr.kind in ("int", "bool"):
        return x
    raise ProposeError(f"a cast from {x.expr.kind} to {wanted}")


def _view(b: Builder, a: Arguments) -> Value:
    x = a.tensor("self")
    sizes = a.dims("size") or a.dims("shape") or ()
    return b.reshaped(x, b.axes.view(x.shape, sizes))


def _flatten(b: Builder, a: Arguments) -> Value:
    x = a.tensor("self")
    rank = len(x.shape)
    start, end = int(a.number("start_dim", 0)) % rank, int(a.number("end_dim", -1)) % rank
    merged = tuple(axis for dim in x.shape[start : end + 1] for axis in dim)
    return b.reshaped(x, (*x.shape[:start], merged, *x.shape[end + 1 :]))


def _unsqueeze(b: Builder, a: Arguments) -> Value:
    x = a.tensor("self")
    at = int(a.number("dim", 0)) % (len(x.shape) + 1)
    return b.reshaped(x, (*x.shape[:at], (), *x.shape[at:]))


def _squeeze(b: Builder, a: Arguments) -> Value:
    x = a.tensor("self")
    dims = a.dims("dim")
    chosen = range(len(x.shape)) if dims is None else [d % len(x.shape) for d in dims]
    return b.reshaped(x, [dim for d, dim in enumerate(x.shape) if dim or d not in chosen])


def _expand(b: Builder, a: Arguments) -> Value:
    x = a.tensor("self")
    sizes = a.dims("size") or ()
    shape = ((),) * (len(sizes) - len(x.shape)) + x.shape
    wide = [dim or b.axes.fresh([1 if n < 0 else n])[0] for dim, n in zip(shape, sizes, strict=True)]
    return b.reshaped(x, wide)


def _broadcast(b: Builder, a: Arguments) -> Result:
    values = a.tensors("tensors")
    shape = b.axes.broadcast(*(v.shape for v in values))
    return tuple(Value(v.expr, shape) for v in values)


def _item(b: Builder, a: Arguments) -> Value:
    """`results[position]`, the one operation that takes a tuple."""
    results: Result = a.results()
    at = next(v.value for v in a.node.arguments if isinstance(v.value, int))
    found = results[at] if isinstance(results, tuple) else results
    if found is None:
        raise ProposeError(f"result {at} of an operation with several")
    return found


VIEWS: dict[str, Rule] = {
    **{f"aten.{n}.default": _same for n in ("alias", "clone", "contiguous", "detach", "lift_fresh_copy")},
    "aten.dropout.default": _dropout,
    "aten._to_copy.default": _cast, "aten.to.dtype": _cast, "aten.to.dtype_layout": _cast,
    "aten.view.default": _view, "aten.reshape.default": _view, "aten._unsafe_view.default": _view,
    "aten.flatten.using_ints": _flatten, "aten.unsqueeze.default": _unsqueeze,
    "aten.squeeze.default": _squeeze, "aten.squeeze.dim": _squeeze, "aten.squeeze.dims": _squeeze,
    "aten.expand.default": _expand, "aten.broadcast_tensors.default": _broadcast,
    **dict.fromkeys(("getitem", "operator.getitem", "_operator.getitem", "builtins.getitem"), _item),
}  # fmt: skip
