"""What a functionalised graph has in place of writes through views: a tensor with a part of it replaced."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from kernelwright.errors import ProposeError
from kernelwright.propose.author.ir.axes import Dim
from kernelwright.propose.author.ir.expr import Call, Combine, Expr
from kernelwright.propose.author.ir.positions import every, minus, plus, quotient, remainder, whole, within
from kernelwright.propose.author.read.builder import Arguments, Builder, Rule, Value, as_dtype, call
from kernelwright.propose.author.read.pointwise import scaled
from kernelwright.propose.author.read.views import bounds_of_slice, counted, indexed

NONE: Dim = ()
"""A dimension of one element."""


def _over(b: Builder, a: Arguments, source: Value) -> Value:
    """The source over the whole tensor, in the tensor's type."""
    (source, _), shape = b.aligned([source, a.tensor("self")])
    return as_dtype(b, source, a.node.result[0].dtype).shaped(shape)


def _replaced(x: Value, part: Value, condition: Expr | None) -> Value:
    """The part where the condition on positions of `x` holds; everywhere without one."""
    return part if condition is None else call("where", x.with_expr(condition), part, x)


def _select_scatter(b: Builder, a: Arguments) -> Value:
    x, part, dim = a.tensor("self"), a.tensor("src"), a.integer("dim") % len(a.tensor("self").shape)
    wide = part.shaped((*part.shape[:dim], NONE, *part.shape[dim:]))
    if not x.shape[dim]:
        return wide
    here = whole(a.integer("index") % x.size(dim))
    return _replaced(x, wide, Call("eq", (b.position(x.shape[dim]), here), "bool"))


def _slice_scatter(b: Builder, a: Arguments) -> Value:
    x, part, dim = a.tensor("self"), a.tensor("src"), a.integer("dim") % len(a.tensor("self").shape)
    start, length, step = bounds_of_slice(a, x.size(dim))
    if not length:
        return x
    position = plus(b.position(x.shape[dim]), whole(-start))
    inside = within(position, (length - 1) * step + 1, b.axes.length)
    met = None if step == 1 else Call("eq", (remainder(position, step), whole(0)), "bool")
    condition = every((inside, met))
    return _replaced(x, b.pick(part, dim, quotient(position, step), x.shape[dim], condition), condition)


def _diagonal_scatter(b: Builder, a: Arguments) -> Value:
    x, part, offset = a.tensor("self"), a.tensor("src"), a.integer("offset")
    row, column = (a.integer(name, n) % len(x.shape) for n, name in enumerate(("dim1", "dim2")))
    down, across = b.position(x.shape[row]), b.position(x.shape[column])
    condition = Call("eq", (across, plus(down, whole(offset))), "bool")
    found = b.pick(part, -1, minus(down, whole(max(-offset, 0))), x.shape[row], condition)
    rest = iter(found.shape[:-1])
    shape = [found.shape[-1] if d == row else NONE if d == column else next(rest) for d in range(len(x.shape))]
    return _replaced(x, found.shaped(shape), condition)


def _index_put(b: Builder, a: Arguments) -> Value:
    """Where one mask holds; what is put there lies along it, or is one for all of its places.

    Raises:
        ProposeError: positions, of which two may be one, or values that are told apart by how many places there are.
    """
    places, x, masks, values = indexed(a), a.tensor("self"), a.tensors("indices"), a.tensor("values")
    if len(masks) != 1 or masks[0].expr.kind != "bool":
        raise ProposeError(MEETING)
    before, inner = places[0], len(masks[0].shape)
    after = len(x.shape) - before - inner
    lead, last = values.shape[: max(0, len(values.shape) - after)], values.shape[max(0, len(values.shape) - after) :]
    if lead and lead[-1]:
        raise ProposeError("a write of as many values as a mask has places")
    values = as_dtype(b, values.shaped((*lead[:-1], *_alone(inner), *last)), a.node.result[0].dtype)
    values = x + values if a.flag("accumulate") else values
    mask = masks[0].shaped((*_alone(before), *masks[0].shape, *_alone(after)))
    return call("where", mask, values, x)


def _scatter_reduce(b: Builder, a: Arguments) -> Value:
    """A reduction for each place over all that is written, of which it takes what goes there.

    Raises:
        ProposeError: so many places that each element would be read too often.
    """
    x, index, source, how = a.tensor("self"), a.tensor("index"), a.tensor("src"), str(a.raw("reduce"))
    dim = a.integer("dim") % max(1, len(x.shape))
    sizes = [[b.axes.size(d) for n, d in enumerate(v.shape) if n != dim] for v in (x, index, source)]
    few = bool(x.shape) and x.size(dim) <= FEW and x.expr.kind == source.expr.kind == "float"
    if not few or sizes[0] != sizes[1] or sizes[1] != sizes[2] or not same_size(b, index, source):
        raise ProposeError(MEETING)
    last = [v.shaped((*v.shape[:dim], NONE, *v.shape[dim + 1 :], v.shape[dim])) for v in (index, source)]
    here = b.new(b.position(x.shape[dim]), (*_alone(dim), x.shape[dim], *_alone(len(x.shape) - dim)))
    met = call("eq", last[0], b.renamed(here))
    combine, neutral, join = REDUCED[how]
    found = b.reduce(combine, call("where", met, last[1], neutral), (-1,), keep=False)
    count = b.reduce("sum", call("where", met, 1.0, 0.0), (-1,), keep=False)
    own = a.flag("include_self", True)
    if own:
        found = call(join, found, x)
    found = found / (count + float(own)) if how == "mean" else found
    return found if own else call("where", count > 0, found, x)


def same_size(b: Builder, left: Value, right: Value) -> bool:
    """Whether two values have the same shape."""
    return [*map(b.axes.size, left.shape)] == [*map(b.axes.size, right.shape)]


@dataclass(frozen=True)
class Added:
    """Values that are added to places that are data; two of them may meet."""

    target: Value
    source: Value
    places: tuple[Value, ...]
    """Along each dimension of the target, aligned with the source."""


def added(b: Builder, a: Arguments) -> Added | None:
    """What an operation adds, and where; None of others."""
    make = ADDITIONS.get(a.node.op)
    return make(b, a) if make else None


def _scatter_added(b: Builder, a: Arguments) -> Added | None:
    target, index, source = a.tensor("self"), a.tensor("index"), a.tensor("src")
    sums = a.raw("reduce") in (None, "sum", "add") and a.flag("include_self", True)
    if not sums or not index.shape or not same_size(b, index, source):
        return None
    return _placed(b, target, source, {a.integer("dim") % len(index.shape): index})


def _index_added(b: Builder, a: Arguments) -> Added | None:
    target, index, source = a.tensor("self"), a.tensor("index"), a.tensor("source")
    if len(index.shape) != 1 or not target.shape:
        return None
    dim = a.integer("dim") % len(target.shape)
    along = index.shaped((*_alone(dim), index.shape[0], *_alone(len(target.shape) - 1 - dim)))
    return _placed(b, target, b.value(scaled(b, source, a.number("alpha", 1))), {dim: along})


def _index_put_added(b: Builder, a: Arguments) -> Added | None:
    target, places, indices = a.tensor("self"), indexed(a), a.tensors("indices")
    first, last = places[0], places[-1]
    if not a.flag("accumulate") or any(i.expr.kind != "int" for i in indices) or last - first >= len(places):
        return None
    aligned, shape = b.aligned([counted(b, i, target.shape[n]) for i, n in zip(indices, places, strict=True)])
    after = len(target.shape) - 1 - last
    rest = [b.axes.fresh([b.axes.size(dim)])[0] for dim in (*target.shape[:first], *target.shape[last + 1 :])]
    along = {n: i.shaped((*_alone(first), *shape, *_alone(after))) for i, n in zip(aligned, places, strict=True)}
    for n, dim in zip((*range(first), *range(last + 1, len(target.shape))), rest, strict=True):
        where = n if n < first else n - len(places) + len(shape)
        along[n] = b.new(b.position(dim), (*_alone(where), dim, *_alone(first + len(shape) + after - 1 - where)))
    return _aligned(b, target, a.tensor("values"), along)


def _placed(b: Builder, target: Value, source: Value, along: dict[int, Value]) -> Added:
    """Where no other place is said, along the other dimensions each element has its own."""
    rank = len(source.shape)
    own = {n: b.new(b.position(d), (*_alone(n), d, *_alone(rank - 1 - n))) for n, d in enumerate(source.shape)}
    return _aligned(b, target, source, {**own, **along})


def _aligned(b: Builder, target: Value, source: Value, along: dict[int, Value]) -> Added:
    values, shape = b.aligned([source, *(along[n] for n in sorted(along))])
    found, *places = (value.shaped(shape) for value in values)
    return Added(target, found, tuple(places))


def _alone(count: int) -> Sequence[Dim]:
    return (NONE,) * count


MEETING = "it writes to positions that are data, of which two may be one"
FEW = 128
"""Places that read every element each, at most: what is added alone goes to its place by itself."""
REDUCED: dict[str, tuple[Combine, float, str]] = {
    "sum": ("sum", 0.0, "add"), "mean": ("sum", 0.0, "add"), "prod": ("prod", 1.0, "mul"),
    "amax": ("amax", float("-inf"), "max"), "amin": ("amin", float("inf"), "min"),
}  # fmt: skip
"""How `scatter_reduce` combines, what it begins with, and how that joins what was there."""
ADDITIONS: dict[str, Callable[[Builder, Arguments], Added | None]] = {
    "aten.scatter_add.default": _scatter_added, "aten.scatter_reduce.two": _scatter_added,
    "aten.scatter.reduce": _scatter_added,
    "aten.index_add.default": _index_added, "aten.index_put.default": _index_put_added,
}  # fmt: skip
WRITES: dict[str, Rule] = {
    "aten.copy.default": lambda b, a: _over(b, a, a.tensor("src")),
    **{f"aten.fill.{kind}": lambda b, a: _over(b, a, b.value(a.operand("value"))) for kind in ("Scalar", "Tensor")},
    "aten.zero.default": lambda b, a: _over(b, a, b.value(0.0)),
    "aten.select_scatter.default": _select_scatter, "aten.slice_scatter.default": _slice_scatter,
    "aten.diagonal_scatter.default": _diagonal_scatter, "aten.index_put.default": _index_put,
    "aten.scatter_reduce.two": _scatter_reduce,
}  # fmt: skip
