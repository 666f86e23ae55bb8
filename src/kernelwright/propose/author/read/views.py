"""PyTorch's operations that only say where an element lies: views, slices, joins, pads, gathers and masks by position."""

from collections.abc import Iterator, Sequence
from itertools import accumulate

from kernelwright.errors import ProposeError
from kernelwright.propose.author.ir.axes import Dim
from kernelwright.propose.author.ir.expr import Call, Const
from kernelwright.propose.author.ir.positions import plus, quotient, remainder, times, whole, within
from kernelwright.propose.author.read.builder import (
    INTEGERS,
    Arguments,
    Builder,
    Result,
    Rule,
    Value,
    as_dtype,
    call,
    cast,
    cast_like,
)

END = 2**62
"""From which on an end of a slice means the end of the tensor."""


def _view(b: Builder, a: Arguments) -> Value:
    x = a.tensor("self")
    return x.shaped(b.axes.view(x.shape, a.dims("size") or a.dims("shape") or ()))


def _as_told(b: Builder, a: Arguments) -> Value:
    """The shape of the result, whatever says it: another tensor, or nothing."""
    x = a.subject()
    return x.shaped(b.axes.view(x.shape, a.node.result[0].shape))


def _flatten(b: Builder, a: Arguments) -> Value:
    x = a.tensor("self")
    rank = len(x.shape)
    if not rank:
        return x.shaped(((),))
    start, end = a.integer("start_dim") % rank, a.integer("end_dim", -1) % rank
    return x.merged(start, end + 1 - start)


def _unflatten(b: Builder, a: Arguments) -> Value:
    x, dim = a.tensor("self"), a.integer("dim")
    return x.spliced(dim, *b.axes.view((x.shape[dim],), a.dims("sizes") or ()))


def _unsqueeze(b: Builder, a: Arguments) -> Value:
    x = a.tensor("self")
    at = a.integer("dim") % (len(x.shape) + 1)
    return x.shaped((*x.shape[:at], (), *x.shape[at:]))


def _squeeze(b: Builder, a: Arguments) -> Value:
    x, dims = a.tensor("self"), a.dims("dim")
    chosen = range(len(x.shape)) if dims is None else [d % len(x.shape) for d in dims]
    return x.shaped(dim for d, dim in enumerate(x.shape) if dim or d not in chosen)


def _expand(b: Builder, a: Arguments) -> Value:
    """The tensor repeated along dimensions of size one; -1 leaves a dimension as it is."""
    x, sizes = a.tensor("self"), a.dims("size") or ()
    shape = ((),) * (len(sizes) - len(x.shape)) + x.shape
    return x.shaped(dim or b.axes.fresh([1 if n < 0 else n])[0] for dim, n in zip(shape, sizes, strict=True))


def _expand_as(b: Builder, a: Arguments) -> Value:
    values, shape = b.aligned([a.tensor("other"), a.tensor("self")])
    return values[1].shaped(shape)


def _broadcast(b: Builder, a: Arguments) -> Result:
    values = a.tensors("tensors")
    shape = b.axes.broadcast(*(v.shape for v in values))
    return tuple(v.shaped(shape) for v in values)


def _item(b: Builder, a: Arguments) -> Value:
    """`results[position]`, the one operation that takes a tuple."""
    results: Result = a.results()
    at = next(v.value for v in a.node.arguments if isinstance(v.value, int))
    found = results[at] if isinstance(results, tuple) else results
    if found is None:
        raise ProposeError(f"result {at} of an operation with several")
    return found


def swapped(x: Value, first: int, second: int) -> Value:
    """Two dimensions in each other's place."""
    shape = list(x.shape)
    shape[first], shape[second] = shape[second], shape[first]
    return x.shaped(shape)


# Parts along one dimension.


def part(b: Builder, x: Value, dim: int, start: int, length: int, step: int = 1) -> Value:
    """Every `step`-th element from `start` on."""
    if length == x.size(dim) and start == 0 and step == 1:
        return x
    new = b.axes.fresh([length])[0]
    return b.pick(x, dim, plus(times(b.position(new), step), whole(start)), new)


def _slice(b: Builder, a: Arguments) -> Value:
    x, dim = a.tensor("self"), a.integer("dim")
    start, length, step = bounds_of_slice(a, x.size(dim))
    return part(b, x, dim, start, length, step)


def bounds_of_slice(a: Arguments, size: int) -> tuple[int, int, int]:
    """Where a slice of a dimension begins, how many elements it has, and their distance."""
    start, end, step = a.integer("start"), a.integer("end", END), a.integer("step", 1)
    start, end = (min(max(n + size * (n < 0), 0), size) for n in (start, end))
    return start, max(0, -(-(end - start) // step)), step


def _select(b: Builder, a: Arguments) -> Value:
    return selected(b, a.tensor("self"), a.integer("dim"), a.integer("index"))


def selected(b: Builder, x: Value, dim: int, index: int) -> Value:
    """One position of a dimension, which is gone then."""
    found = b.pick(x, dim, whole(index % x.size(dim)), ()) if x.shape[dim] else x
    return found.spliced(dim)


def _unbind(b: Builder, a: Arguments) -> Result:
    x, dim = a.tensor("self"), a.integer("dim")
    return tuple(selected(b, x, dim, n) for n in range(x.size(dim)))


def _split(b: Builder, a: Arguments) -> Result:
    x, dim = a.tensor("self"), a.integer("dim")
    size = x.size(dim)
    if a.raw("chunks") is not None:
        each = -(-size // a.integer("chunks", 1))
        lengths = [min(each, size - at) for at in range(0, size, each)]
    else:
        given = a.dims("split_sizes") or a.dims("split_size") or ()
        uneven = a.node.op.startswith("aten.split_with_sizes") or len(given) > 1
        lengths = list(given) if uneven else [min(given[0], size - at) for at in range(0, size, given[0])]
    return tuple(part(b, x, dim, end - n, n) for end, n in zip(accumulate(lengths), lengths, strict=True))


def _gated(b: Builder, a: Arguments) -> Value:
    """One half times the sigmoid of the other."""
    x, dim = a.tensor("self"), a.integer("dim", -1)
    half = x.size(dim) // 2
    return part(b, x, dim, 0, half) * call("sigmoid", part(b, x, dim, half, half))


def _flip(b: Builder, a: Arguments) -> Value:
    x = a.tensor("self")
    for dim in a.dims("dims") or ():
        (new,) = b.axes.fresh([x.size(dim)])
        last = whole(x.size(dim) - 1)
        x = b.pick(x, dim, Call("sub", (last, b.position(new)), "int"), new) if new else x
    return x


def _roll(b: Builder, a: Arguments) -> Value:
    x, dims = a.tensor("self"), a.dims("dims")
    if not dims:
        raise ProposeError("a roll over all dimensions at once")
    for dim, shift in zip(dims, a.dims("shifts") or (), strict=True):
        size = x.size(dim)
        (new,) = b.axes.fresh([size])
        x = b.pick(x, dim, remainder(plus(b.position(new), whole(-shift % size)), size), new) if new else x
    return x


def _unfold(b: Builder, a: Arguments) -> Value:
    """Windows along a dimension, whose elements are a new last dimension."""
    x, size, step = a.tensor("self"), a.integer("size", 1), a.integer("step", 1)
    dim = a.integer("dimension")
    window, inner = b.axes.fresh([(x.size(dim) - size) // step + 1, size])
    found = b.pick(x, dim, plus(times(b.position(window), step), b.position(inner)), window)
    return found.shaped((*found.shape, inner))


def _diagonal(b: Builder, a: Arguments) -> Value:
    """Where the positions along two dimensions differ by `offset`: a new last dimension."""
    x, offset = a.tensor("self"), a.integer("offset")
    row, column = (a.integer(name, n) % len(x.shape) for n, name in enumerate(("dim1", "dim2")))
    down, across = max(-offset, 0), max(offset, 0)
    (new,) = b.axes.fresh([min(x.size(row) - down, x.size(column) - across)])
    found = b.pick(x, row, plus(b.position(new), whole(down)), ())
    found = b.pick(found, column, plus(b.position(new), whole(across)), ())
    return found.shaped((*(dim for d, dim in enumerate(found.shape) if d not in (row, column)), new))


def _repeat(b: Builder, a: Arguments) -> Value:
    x, times_each = a.tensor("self"), a.dims("repeats") or a.dims("dims") or ()
    out = x.shaped(((),) * (len(times_each) - len(x.shape)) + x.shape)
    for dim, count in enumerate((1,) * (len(out.shape) - len(times_each)) + tuple(times_each)):
        (repeats,) = b.axes.fresh([count])
        out = out.spliced(dim, (*repeats, *out.shape[dim]))
    return out


def _repeat_interleave(b: Builder, a: Arguments) -> Value:
    x, dim = a.tensor("self"), a.raw("dim")
    if not isinstance(dim, int):
        raise ProposeError("repeat_interleave of a flattened tensor")
    (repeats,) = b.axes.fresh([a.integer("repeats", 1)])
    return x.spliced(dim, (*x.shape[dim], *repeats))


# Joins and pads: positions outside a part read nothing.


def _pads(a: Arguments, name: str) -> Iterator[tuple[int, int, int]]:
    """Each dimension that is padded, counted from the last, with what comes before it and after it."""
    amounts = a.dims(name) or ()
    for number in range(len(amounts) // 2):
        before, after = amounts[2 * number], amounts[2 * number + 1]
        if before or after:
            yield -1 - number, before, after


def _pad(b: Builder, a: Arguments) -> Value:
    x, mode = a.tensor("self"), a.raw("mode") or "constant"
    if mode != "constant":
        return _mirrored(b, a, "pad", str(mode))
    x, fill = x.floating if x.expr.kind == "bool" else x, a.number("value", 0.0)
    for dim, before, after in _pads(a, "pad"):
        size = x.size(dim)
        (new,) = b.axes.fresh([size + before + after])
        position = plus(b.position(new), whole(-before)) if new else whole(-before)
        inside = within(position, size, b.axes.length)
        x = b.pick(x, dim, position, new, inside).where(inside, fill)
    return x


def _mirrored(b: Builder, a: Arguments, amounts: str, mode: str) -> Value:
    x = a.tensor("self")
    for dim, before, after in _pads(a, amounts):
        size = x.size(dim)
        (new,) = b.axes.fresh([size + before + after])
        if not new:
            continue
        at, last = plus(b.position(new), whole(-before)), whole(size - 1)
        if mode == "circular":
            at = remainder(plus(at, whole(size)), size)
        elif mode == "replicate":
            at = Call("min", (Call("max", (at, whole(0)), "int"), last), "int")
        elif mode == "reflect":
            beyond = Call("sub", (last, Call("abs", (at,), "int")), "int")
            at = Call("sub", (last, Call("abs", (beyond,), "int")), "int")
        else:
            raise ProposeError(f"a pad of mode {mode!r}")
        x = b.pick(x, dim, at, new)
    return x


def _padding_rule(mode: str) -> Rule:
    return lambda b, a: _mirrored(b, a, "padding", mode)


def _cat(b: Builder, a: Arguments) -> Value:
    """An empty vector joins whatever stands beside it, as caches begin with one."""
    given, dim = a.tensors("tensors"), a.integer("dim")
    values = [v for v in given if len(v.shape) > 1 or (v.shape and v.size(0))]
    return joined(b, values, dim % len(values[0].shape))


def joined(b: Builder, values: Sequence[Value], dim: int) -> Value:
    """Tensors one after the other along a dimension."""
    lengths = [v.size(dim) for v in values]
    (new,) = b.axes.fresh([sum(lengths)])
    if any(v.expr.kind == "float" for v in values):
        values = [v.floating for v in values]
    ends, parts = list(accumulate(lengths)), []
    for value, length, end in zip(values, lengths, ends, strict=True):
        position = plus(b.position(new), whole(length - end))
        inside = within(position, length, b.axes.length)
        parts.append(b.pick(value, dim, position, new, inside))
    parts, shape = b.aligned(parts)
    out = parts[-1].expr
    here = b.position(shape[dim])  # of the aligned parts, which may run over other axes than `new`
    for value, end in reversed(list(zip(parts[:-1], ends[:-1], strict=True))):
        out = Call("where", (Call("lt", (here, whole(end)), "bool"), value.expr, out), out.kind)
    return b.new(out, shape)


def _stack(b: Builder, a: Arguments) -> Value:
    values = a.tensors("tensors")
    dim = a.integer("dim") % (len(values[0].shape) + 1)
    return joined(b, [v.shaped((*v.shape[:dim], (), *v.shape[dim:])) for v in values], dim)


# Masks by position, and what counts.


def _triangle(keep: str) -> Rule:
    def rule(b: Builder, a: Arguments) -> Value:
        x, diagonal = a.tensor("self"), a.integer("diagonal")
        row, column = b.position(x.shape[-2]), b.position(x.shape[-1])
        condition = Call(keep, (column, plus(row, whole(diagonal))), "bool")
        if isinstance(x.expr, Const) and x.expr.kind == "bool" and x.expr.value:
            return x.with_expr(condition)
        return x.where(condition)

    return rule


def _diagonal_matrix(b: Builder, a: Arguments) -> Value:
    x = a.tensor("self")
    if len(x.shape) != 1 or a.number("diagonal", 0):
        raise ProposeError(f"{a.node.op} of other than a vector")
    (other,) = b.axes.fresh([x.size(0)])
    condition = Call("eq", (b.position(x.shape[0]), b.position(other)), "bool")
    return x.where(condition).shaped((x.shape[0], other))


def _arange(b: Builder, a: Arguments) -> Value:
    start, step, end = a.number("start", 0), a.number("step", 1), a.number("end", 0)
    (new,) = b.axes.fresh([int(-(-(end - start) // step))])
    position = b.new(b.position(new), (new,))
    whole_numbers = all(float(n).is_integer() for n in (start, step)) and a.raw("dtype") in (None, *INTEGERS)
    if whole_numbers:
        return position.with_expr(plus(times(position.expr, int(step)), whole(int(start))))
    return position * float(step) + float(start)


def _linspace(b: Builder, a: Arguments) -> Value:
    start, end, steps = a.number("start", 0), a.number("end", 1), a.integer("steps", 1)
    (new,) = b.axes.fresh([steps])
    position = b.new(b.position(new), (new,))
    return position * ((end - start) / max(1, steps - 1)) + start


def _eye(b: Builder, a: Arguments) -> Value:
    rows = a.integer("n", 1)
    shape = b.axes.fresh([rows, a.integer("m", rows)])
    hit = b.new(Call("eq", (b.position(shape[0]), b.position(shape[1])), "bool"), shape)
    return as_dtype(b, hit, a.node.result[0].dtype)


def _one_hot(b: Builder, a: Arguments) -> Value:
    """A class against the number of each."""
    x, count = a.tensor("self"), a.node.result[0].shape[-1]
    (new,) = b.axes.fresh([count])
    return as_dtype(b, b.new(Call("eq", (x.expr, b.position(new)), "bool"), (*x.shape, new)), a.node.result[0].dtype)


# Gathers.


def rows_at(b: Builder, table: Value, dim: int, index: Value) -> Value:
    """`table` at positions along a dimension that is replaced by the dimensions of the index."""
    table = table if _axes(b, table.shape).isdisjoint(_axes(b, index.shape)) else b.renamed(table)
    return b.pick(table, dim, index.expr, ()).spliced(dim, *index.shape)


def _axes(b: Builder, shape: Sequence[Dim]) -> set[int]:
    return {*b.axes.resolve(tuple(axis for dim in shape for axis in dim))}


def _index(b: Builder, a: Arguments) -> Value:
    """Advanced indexing by tensors of integers, whose dimensions stand where the first does, or first where they are apart."""
    x, places, indices = a.tensor("self"), indexed(a), a.tensors("indices")
    if any(index.expr.kind != "int" for index in indices):
        raise ProposeError("an index by a mask, whose result has no fixed shape")
    aligned, shape = b.aligned([counted(b, i, x.shape[n]) for i, n in zip(indices, places, strict=True)])
    x = x if _axes(b, x.shape).isdisjoint(_axes(b, shape)) else b.renamed(x)
    for place, index in zip(places, aligned, strict=True):
        x = b.pick(x, place, index.expr, ())
    first = places[0] if places[-1] - places[0] < len(places) else 0
    rest = [dim for n, dim in enumerate(x.shape) if n not in places]
    return x.shaped((*rest[:first], *shape, *rest[first:]))


def indexed(a: Arguments) -> list[int]:
    """The dimensions that `indices` has a tensor for."""
    given = a.raw("indices")
    return [n for n, item in enumerate(given if isinstance(given, tuple) else (given,)) if item is not None]


def counted(b: Builder, index: Value, dim: Dim) -> Value:
    """The index with negative positions counted from the dimension's end."""
    return call("where", index < 0, index + b.axes.size(dim), index)


def _pixel_shuffle(b: Builder, a: Arguments) -> Value:
    x, factor = a.tensor("self"), a.integer("upscale_factor", 1)
    channels, tall, wide = x.shape[-3:]
    parts = b.axes.view((channels,), (-1, factor, factor))
    return x.shaped((*x.shape[:-3], parts[0], (*tall, *parts[1]), (*wide, *parts[2])))


def _nearest(b: Builder, a: Arguments) -> Value:
    """Nearest-neighbour upsampling by a whole factor."""
    x, sizes = a.subject(), a.dims("output_size")
    if sizes is None:
        factors = a.numbers("scale_factors")
        sizes = tuple(int(x.size(n - len(factors)) * factor) for n, factor in enumerate(factors))
    for number, size in enumerate(reversed(sizes), 1):
        factor, left = divmod(size, x.size(-number))
        if left:
            raise ProposeError("upsampling by a factor that is not whole")
        (new,) = b.axes.fresh([size])
        x = b.pick(x, -number, quotient(b.position(new), factor), new)
    return x


VIEWS: dict[str, Rule] = {
    **{f"aten.{name}.default": lambda b, a: a.subject()
       for name in ("alias", "clone", "contiguous", "detach", "lift_fresh_copy", "detach_", "positive", "resolve_conj",
                    "resolve_neg")},
    **dict.fromkeys(("aten._to_copy.default", "aten.to.dtype", "aten.to.dtype_layout", "aten.to.device"), cast),
    "aten.type_as.default": cast_like, "aten.to.other": cast_like,
    "aten.view.default": _view, "aten.reshape.default": _view, "aten._unsafe_view.default": _view,
    **{f"aten.{name}.default": _as_told
       for name in ("view_as", "reshape_as", "ravel", "atleast_1d", "atleast_2d", "atleast_3d")},
    "aten.flatten.using_ints": _flatten, "aten.unflatten.int": _unflatten, "aten.unsqueeze.default": _unsqueeze,
    "aten.squeeze.default": _squeeze, "aten.squeeze.dim": _squeeze, "aten.squeeze.dims": _squeeze,
    "aten.expand.default": _expand, "aten.broadcast_to.default": _expand, "aten.expand_as.default": _expand_as,
    "aten.broadcast_tensors.default": _broadcast,
    **dict.fromkeys(("getitem", "operator.getitem", "_operator.getitem", "builtins.getitem"), _item),
    "aten.permute.default": lambda b, a: a.tensor("self").shaped(a.tensor("self").shape[d] for d in a.dims("dims") or ()),
    **dict.fromkeys(("aten.transpose.int", "aten.swapdims.default"),
                    lambda b, a: swapped(a.tensor("self"), a.integer("dim0"), a.integer("dim1", 1))),
    "aten.swapaxes.default": lambda b, a: swapped(a.tensor("self"), a.integer("axis0"), a.integer("axis1")),
    "aten.t.default": lambda b, a: a.tensor("self").shaped(a.tensor("self").shape[::-1]),
    "aten.numpy_T.default": lambda b, a: a.tensor("self").shaped(a.tensor("self").shape[::-1]),
    "aten.mT.default": lambda b, a: swapped(a.tensor("self"), -2, -1),
    "aten.slice.Tensor": _slice, "aten.select.int": _select,
    "aten.narrow.default": lambda b, a: part(b, a.tensor("self"), a.integer("dim"), a.integer("start"), a.integer("length")),
    "aten.unbind.int": _unbind,
    "aten.chunk.default": _split, "aten.split.Tensor": _split, "aten.split.sizes": _split,
    "aten.split_with_sizes.default": _split,
    "aten.glu.default": _gated, "aten.flip.default": _flip, "aten.roll.default": _roll,
    "aten.unfold.default": _unfold, "aten.diagonal.default": _diagonal,
    "aten.repeat.default": _repeat, "aten.tile.default": _repeat,
    "aten.repeat_interleave.self_int": _repeat_interleave,
    "aten.pad.default": _pad, "aten.constant_pad_nd.default": _pad,
    **{f"aten.{m}_pad{n}d.default": _padding_rule(w) for n in (1, 2, 3)
       for m, w in (("reflection", "reflect"), ("replication", "replicate"))},
    "aten.cat.default": _cat, "aten.concat.default": _cat, "aten.stack.default": _stack,
    "aten.tril.default": _triangle("le"), "aten.triu.default": _triangle("ge"),
    "aten.one_hot.default": _one_hot, "aten.diag.default": _diagonal_matrix, "aten.diag_embed.default": _diagonal_matrix,
    "aten.arange.default": _arange, "aten.arange.start": _arange, "aten.arange.start_step": _arange,
    "aten.linspace.default": _linspace, "aten.eye.default": _eye, "aten.eye.m": _eye,
    "aten.embedding.default": lambda b, a: rows_at(b, a.tensor("weight"), 0, a.tensor("indices")),
    "aten.index_select.default": lambda b, a: rows_at(b, a.tensor("self"), a.integer("dim"), a.tensor("index")),
    "aten.index.Tensor": _index,
    "aten.pixel_shuffle.default": _pixel_shuffle,
    "aten.upsample_nearest2d.default": _nearest, "aten.upsample_nearest2d.vec": _nearest,
    "aten.upsample_nearest1d.default": _nearest, "aten.upsample_nearest1d.vec": _nearest,
}  # fmt: skip
