"""PyTorch's operations that only say where an element lies: views, slices, joins, pads, gathers and masks by position."""

from collections.abc import Sequence
from itertools import accumulate

from kernelwright.errors import ProposeError
from kernelwright.propose.author.plan.builder import Arguments, Builder, Dim, Result, Rule, Value, as_float
from kernelwright.propose.author.plan.casts import INTEGERS, cast, cast_like
from kernelwright.propose.author.plan.expr import Call, Const, Expr, Kind
from kernelwright.propose.author.plan.positions import plus, quotient, remainder, times, whole, within

END = 2**62
"""From which on an end of a slice means the end of the tensor."""


def _same(b: Builder, a: Arguments) -> Value:
    return a.subject()


def _view(b: Builder, a: Arguments) -> Value:
    x = a.tensor("self")
    sizes = a.dims("size") or a.dims("shape") or ()
    return b.reshaped(x, b.axes.view(x.shape, sizes))


def _flatten(b: Builder, a: Arguments) -> Value:
    x = a.tensor("self")
    rank = len(x.shape)
    if not rank:
        return b.reshaped(x, ((),))
    start, end = int(a.number("start_dim", 0)) % rank, int(a.number("end_dim", -1)) % rank
    merged = tuple(axis for dim in x.shape[start : end + 1] for axis in dim)
    return b.reshaped(x, (*x.shape[:start], merged, *x.shape[end + 1 :]))


def _unflatten(b: Builder, a: Arguments) -> Value:
    x = a.tensor("self")
    dim = int(a.number("dim", 0)) % len(x.shape)
    parts = b.axes.view((x.shape[dim],), a.dims("sizes") or ())
    return b.reshaped(x, (*x.shape[:dim], *parts, *x.shape[dim + 1 :]))


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
    return expanded(b, x, sizes)


def expanded(b: Builder, x: Value, sizes: Sequence[int]) -> Value:
    """The tensor repeated along dimensions of size one; -1 leaves a dimension as it is."""
    shape = ((),) * (len(sizes) - len(x.shape)) + x.shape
    wide = [dim or b.axes.fresh([1 if n < 0 else n])[0] for dim, n in zip(shape, sizes, strict=True)]
    return b.reshaped(x, wide)


def _expand_as(b: Builder, a: Arguments) -> Value:
    values, shape = b.aligned([a.tensor("other"), a.tensor("self")])
    return Value(values[1].expr, shape)


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


def _permute(b: Builder, a: Arguments) -> Value:
    x = a.tensor("self")
    return b.reshaped(x, [x.shape[d] for d in a.dims("dims") or ()])


def swapped(b: Builder, x: Value, first: int, second: int) -> Value:
    """Two dimensions in each other's place."""
    shape = list(x.shape)
    shape[first], shape[second] = shape[second], shape[first]
    return b.reshaped(x, shape)


def _transpose(b: Builder, a: Arguments) -> Value:
    return swapped(b, a.tensor("self"), int(a.number("dim0", 0)), int(a.number("dim1", 1)))


def _reversed_dims(b: Builder, a: Arguments) -> Value:
    x = a.tensor("self")
    return b.reshaped(x, x.shape[::-1])


def _matrix_transpose(b: Builder, a: Arguments) -> Value:
    return swapped(b, a.tensor("self"), -2, -1)


# Parts along one dimension.


def part(b: Builder, x: Value, dim: int, start: int, length: int, step: int = 1) -> Value:
    """Every `step`-th element from `start` on."""
    dim %= len(x.shape)
    if length == b.axes.size(x.shape[dim]) and start == 0 and step == 1:
        return x
    new = b.axes.fresh([length])[0]
    return b.pick(x, dim, plus(times(b.position(new), step), whole(start)), new)


def _slice(b: Builder, a: Arguments) -> Value:
    x, dim, step = a.tensor("self"), int(a.number("dim", 0)), int(a.number("step", 1))
    size = b.axes.size(x.shape[dim])
    start, end = int(a.number("start", 0)), int(a.number("end", END))
    start, end = (min(max(n + size * (n < 0), 0), size) for n in (start, end))
    return part(b, x, dim, start, max(0, -(-(end - start) // step)), step)


def _select(b: Builder, a: Arguments) -> Value:
    x, dim, index = a.tensor("self"), int(a.number("dim", 0)), int(a.number("index", 0))
    return selected(b, x, dim, index)


def selected(b: Builder, x: Value, dim: int, index: int) -> Value:
    """One position of a dimension, which is gone then."""
    dim %= len(x.shape)
    found = b.pick(x, dim, whole(index % b.axes.size(x.shape[dim])), ()) if x.shape[dim] else x
    return b.reshaped(found, (*found.shape[:dim], *found.shape[dim + 1 :]))


def _unbind(b: Builder, a: Arguments) -> Result:
    x, dim = a.tensor("self"), int(a.number("dim", 0))
    return tuple(selected(b, x, dim, n) for n in range(b.axes.size(x.shape[dim])))


def _narrow(b: Builder, a: Arguments) -> Value:
    x = a.tensor("self")
    return part(b, x, int(a.number("dim", 0)), int(a.number("start", 0)), int(a.number("length", 0)))


def _split(b: Builder, a: Arguments) -> Result:
    x, dim = a.tensor("self"), int(a.number("dim", 0))
    size = b.axes.size(x.shape[dim])
    if a.raw("chunks") is not None:
        each = -(-size // int(a.number("chunks", 1)))
        lengths = [min(each, size - at) for at in range(0, size, each)]
    else:
        given = a.dims("split_sizes") or a.dims("split_size") or ()
        uneven = a.node.op.startswith("aten.split_with_sizes") or len(given) > 1
        lengths = list(given) if uneven else [min(given[0], size - at) for at in range(0, size, given[0])]
    starts = [sum(lengths[:n]) for n in range(len(lengths))]
    return tuple(part(b, x, dim, start, n) for start, n in zip(starts, lengths, strict=True))


def _gated(b: Builder, a: Arguments) -> Value:
    """One half times the sigmoid of the other."""
    x, dim = a.tensor("self"), int(a.number("dim", -1))
    half = b.axes.size(x.shape[dim]) // 2
    return b.call("mul", part(b, x, dim, 0, half), b.call("sigmoid", part(b, x, dim, half, half)))


def _flip(b: Builder, a: Arguments) -> Value:
    x = a.tensor("self")
    for dim in a.dims("dims") or ():
        new = b.axes.fresh([b.axes.size(x.shape[dim])])[0]
        last = b.axes.size(new) - 1
        x = b.pick(x, dim, Call("sub", (whole(last), b.position(new)), "int"), new) if new else x
    return x


def _roll(b: Builder, a: Arguments) -> Value:
    x = a.tensor("self")
    dims = a.dims("dims")
    if not dims:
        raise ProposeError("a roll over all dimensions at once")
    for dim, shift in zip(dims, a.dims("shifts") or (), strict=True):
        size = b.axes.size(x.shape[dim])
        new = b.axes.fresh([size])[0]
        x = b.pick(x, dim, remainder(plus(b.position(new), whole(-shift % size)), size), new) if new else x
    return x


def _unfold(b: Builder, a: Arguments) -> Value:
    """Windows along a dimension, whose elements are a new last dimension."""
    x, size, step = a.tensor("self"), int(a.number("size", 1)), int(a.number("step", 1))
    dim = int(a.number("dimension", 0)) % len(x.shape)
    window, inner = b.axes.fresh([(b.axes.size(x.shape[dim]) - size) // step + 1, size])
    found = b.pick(x, dim, plus(times(b.position(window), step), b.position(inner)), ())
    return b.reshaped(found, (*x.shape[:dim], window, *x.shape[dim + 1 :], inner))


def _diagonal(b: Builder, a: Arguments) -> Value:
    """Where the positions along two dimensions differ by `offset`: a new last dimension."""
    x, offset = a.tensor("self"), int(a.number("offset", 0))
    row, column = (int(a.number(name, n)) % len(x.shape) for n, name in enumerate(("dim1", "dim2")))
    down, across = max(-offset, 0), max(offset, 0)
    new = b.axes.fresh([min(b.axes.size(x.shape[row]) - down, b.axes.size(x.shape[column]) - across)])[0]
    found = b.pick(x, row, plus(b.position(new), whole(down)), ())
    found = b.pick(found, column, plus(b.position(new), whole(across)), ())
    return b.reshaped(found, (*(dim for d, dim in enumerate(found.shape) if d not in (row, column)), new))


def _repeat(b: Builder, a: Arguments) -> Value:
    x, times_each = a.tensor("self"), a.dims("repeats") or a.dims("dims") or ()
    out = b.reshaped(x, ((),) * (len(times_each) - len(x.shape)) + x.shape)
    for dim, count in enumerate((1,) * (len(out.shape) - len(times_each)) + tuple(times_each)):
        repeats = b.axes.fresh([count])[0]
        out = b.reshaped(out, (*out.shape[:dim], (*repeats, *out.shape[dim]), *out.shape[dim + 1 :]))
    return out


def _repeat_interleave(b: Builder, a: Arguments) -> Value:
    x, dim = a.tensor("self"), a.raw("dim")
    if not isinstance(dim, int):
        raise ProposeError("repeat_interleave of a flattened tensor")
    repeats = b.axes.fresh([int(a.number("repeats", 1))])[0]
    dim %= len(x.shape)
    return b.reshaped(x, (*x.shape[:dim], (*x.shape[dim], *repeats), *x.shape[dim + 1 :]))


# Joins and pads: positions outside a part read nothing.


def padded(b: Builder, x: Value, dim: int, before: int, after: int, fill: Const) -> Value:
    """The tensor with `fill` around it along a dimension; negative amounts cut."""
    size = b.axes.size(x.shape[dim])
    new = b.axes.fresh([size + before + after])[0]
    position = plus(b.position(new), whole(-before)) if new else whole(-before)
    inside = within(position, size, lambda axis: b.axes.size((axis,)))
    found = b.pick(x, dim, position, new, inside)
    if inside is None:
        return found
    return Value(Call("where", (inside, found.expr, fill), found.expr.kind), found.shape)


def _pad(b: Builder, a: Arguments) -> Value:
    x, amounts = a.tensor("self"), a.dims("pad") or ()
    mode = a.raw("mode") or "constant"
    if mode != "constant":
        return _mirrored(b, x, amounts, str(mode))
    kind: Kind = "int" if x.expr.kind == "int" else "float"
    x = x if x.expr.kind != "bool" else Value(as_float(x.expr), x.shape)
    fill = Const(a.number("value", 0.0), kind)
    for number in range(len(amounts) // 2):
        before, after = amounts[2 * number], amounts[2 * number + 1]
        x = padded(b, x, -1 - number, before, after, fill) if before or after else x
    return x


def _mirrored(b: Builder, x: Value, amounts: Sequence[int], mode: str) -> Value:
    for number in range(len(amounts) // 2):
        before, after = amounts[2 * number], amounts[2 * number + 1]
        size = b.axes.size(x.shape[-1 - number])
        new = b.axes.fresh([size + before + after])[0]
        if not new or not (before or after):
            continue
        at = plus(b.position(new), whole(-before))
        last = whole(size - 1)
        if mode == "circular":
            at = remainder(plus(at, whole(size)), size)
        elif mode == "replicate":
            at = Call("min", (Call("max", (at, whole(0)), "int"), last), "int")
        elif mode == "reflect":
            below = Call("abs", (at,), "int")
            at = Call("sub", (last, Call("abs", (Call("sub", (last, below), "int"),), "int")), "int")
        else:
            raise ProposeError(f"a pad of mode {mode!r}")
        x = b.pick(x, len(x.shape) - 1 - number, at, new)
    return x


def _padding_rule(mode: str) -> Rule:
    return lambda b, a: _mirrored(b, a.tensor("self"), a.dims("padding") or (), mode)


def _cat(b: Builder, a: Arguments) -> Value:
    values, dim = [v for v in a.tensors("tensors") if v.shape], int(a.number("dim", 0))
    return joined(b, values, dim % len(values[0].shape))


def joined(b: Builder, values: Sequence[Value], dim: int) -> Value:
    """Tensors one after the other along a dimension."""
    lengths = [b.axes.size(v.shape[dim]) for v in values]
    new = b.axes.fresh([sum(lengths)])[0]
    if any(v.expr.kind == "float" for v in values):
        values = [Value(as_float(v.expr), v.shape) for v in values]
    ends = list(accumulate(lengths))
    parts = []
    for value, length, end in zip(values, lengths, ends, strict=True):
        position = plus(b.position(new), whole(length - end))
        inside = within(position, length, lambda axis: b.axes.size((axis,)))
        parts.append(b.pick(value, dim, position, new, inside))
    parts, shape = b.aligned(parts)
    out = parts[-1].expr
    here = b.position(shape[dim])  # of the aligned parts, which may run over other axes than `new`
    for value, end in reversed(list(zip(parts[:-1], ends[:-1], strict=True))):
        out = Call("where", (Call("lt", (here, whole(end)), "bool"), value.expr, out), out.kind)
    return Value(out, shape)


def _stack(b: Builder, a: Arguments) -> Value:
    values = a.tensors("tensors")
    dim = int(a.number("dim", 0)) % (len(values[0].shape) + 1)
    return joined(b, [b.reshaped(v, (*v.shape[:dim], (), *v.shape[dim:])) for v in values], dim)


# Masks by position, and what counts.


def _triangle(keep: str) -> Rule:
    def rule(b: Builder, a: Arguments) -> Value:
        x, diagonal = a.tensor("self"), int(a.number("diagonal", 0))
        row, column = b.position(x.shape[-2]), b.position(x.shape[-1])
        condition = Call(keep, (column, plus(row, whole(diagonal))), "bool")
        if isinstance(x.expr, Const) and x.expr.kind == "bool" and x.expr.value:
            return Value(condition, x.shape)
        zero = Const(0.0, x.expr.kind)
        return Value(Call("where", (condition, x.expr, zero), x.expr.kind), x.shape)

    return rule


def _diagonal_matrix(b: Builder, a: Arguments) -> Value:
    x = a.tensor("self")
    if len(x.shape) != 1 or a.number("diagonal", 0):
        raise ProposeError(f"{a.node.op} of other than a vector")
    other = b.axes.fresh([b.axes.size(x.shape[0])])[0]
    condition = Call("eq", (b.position(x.shape[0]), b.position(other)), "bool")
    return Value(Call("where", (condition, x.expr, Const(0.0, x.expr.kind)), x.expr.kind), (x.shape[0], other))


def _arange(b: Builder, a: Arguments) -> Value:
    start, step, end = a.number("start", 0), a.number("step", 1), a.number("end", 0)
    new = b.axes.fresh([int(-(-(end - start) // step))])[0]
    position = Value(b.position(new), (new,))
    whole_numbers = all(float(n).is_integer() for n in (start, step)) and a.raw("dtype") in (None, *INTEGERS)
    if whole_numbers:
        return Value(plus(times(position.expr, int(step)), whole(int(start))), position.shape)
    return b.call("add", b.call("mul", position, float(step)), float(start))


# Gathers.


def _embedding(b: Builder, a: Arguments) -> Value:
    table, index = a.tensor("weight"), a.tensor("indices")
    return rows_at(b, table, 0, index)


def rows_at(b: Builder, table: Value, dim: int, index: Value) -> Value:
    """`table` at positions along a dimension that is replaced by the dimensions of the index."""
    dim %= len(table.shape)
    if set(_axes(b, table.shape)) & set(_axes(b, index.shape)):
        table = b.renamed(table)
    found = b.pick(table, dim, index.expr, ())
    return b.reshaped(found, (*table.shape[:dim], *index.shape, *table.shape[dim + 1 :]))


def _axes(b: Builder, shape: Sequence[Dim]) -> Dim:
    return b.axes.resolve(tuple(axis for dim in shape for axis in dim))


def _index_select(b: Builder, a: Arguments) -> Value:
    return rows_at(b, a.tensor("self"), int(a.number("dim", 0)), a.tensor("index"))


def _index(b: Builder, a: Arguments) -> Value:
    """Advanced indexing by one tensor of integers; negative positions count from the end."""
    given = a.raw("indices")
    items = given if isinstance(given, tuple) else (given,)
    places = [n for n, item in enumerate(items) if item is not None]
    if len(places) != 1:
        raise ProposeError("an index by several tensors")
    x, (index,) = a.tensor("self"), a.tensors("indices")
    if index.expr.kind != "int":
        raise ProposeError("an index by a mask, whose result has no fixed shape")
    size = b.axes.size(x.shape[places[0]])
    wrapped = Call("add", (index.expr, whole(size)), "int")
    expr: Expr = Call("where", (Call("lt", (index.expr, whole(0)), "bool"), wrapped, index.expr), "int")
    return rows_at(b, x, places[0], Value(expr, index.shape))


def _pixel_shuffle(b: Builder, a: Arguments) -> Value:
    x, factor = a.tensor("self"), int(a.number("upscale_factor", 1))
    channels, tall, wide = x.shape[-3:]
    parts = b.axes.view((channels,), (-1, factor, factor))
    return b.reshaped(x, (*x.shape[:-3], parts[0], (*tall, *parts[1]), (*wide, *parts[2])))


def _nearest(b: Builder, a: Arguments) -> Value:
    """Nearest-neighbour upsampling by a whole factor."""
    x, sizes = a.subject(), a.dims("output_size")
    if sizes is None:
        given = a.raw("scale_factors")
        factors = [f for f in (given if isinstance(given, tuple) else ()) if isinstance(f, int | float)]
        old = [b.axes.size(dim) for dim in x.shape[-len(factors) :]]
        sizes = tuple(int(n * f) for n, f in zip(old, factors, strict=True))
    for number, size in enumerate(reversed(sizes)):
        dim, old_size = len(x.shape) - 1 - number, b.axes.size(x.shape[-1 - number])
        if size % old_size:
            raise ProposeError("upsampling by a factor that is not whole")
        new = b.axes.fresh([size])[0]
        x = b.pick(x, dim, quotient(b.position(new), size // old_size), new)
    return x


VIEWS: dict[str, Rule] = {
    **{f"aten.{n}.default": _same for n in ("alias", "clone", "contiguous", "detach", "lift_fresh_copy", "detach_")},
    "aten._to_copy.default": cast, "aten.to.dtype": cast, "aten.to.dtype_layout": cast,
    "aten.type_as.default": cast_like,
    "aten.view.default": _view, "aten.reshape.default": _view, "aten._unsafe_view.default": _view,
    "aten.flatten.using_ints": _flatten, "aten.unflatten.int": _unflatten, "aten.unsqueeze.default": _unsqueeze,
    "aten.squeeze.default": _squeeze, "aten.squeeze.dim": _squeeze, "aten.squeeze.dims": _squeeze,
    "aten.expand.default": _expand, "aten.broadcast_to.default": _expand, "aten.expand_as.default": _expand_as,
    "aten.broadcast_tensors.default": _broadcast,
    **dict.fromkeys(("getitem", "operator.getitem", "_operator.getitem", "builtins.getitem"), _item),
    "aten.permute.default": _permute, "aten.transpose.int": _transpose, "aten.t.default": _reversed_dims,
    "aten.numpy_T.default": _reversed_dims, "aten.mT.default": _matrix_transpose,
    "aten.slice.Tensor": _slice, "aten.select.int": _select, "aten.narrow.default": _narrow,
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
    "aten.diag.default": _diagonal_matrix, "aten.diag_embed.default": _diagonal_matrix,
    "aten.arange.default": _arange, "aten.arange.start": _arange, "aten.arange.start_step": _arange,
    "aten.embedding.default": _embedding, "aten.index_select.default": _index_select, "aten.index.Tensor": _index,
    "aten.pixel_shuffle.default": _pixel_shuffle,
    "aten.upsample_nearest2d.default": _nearest, "aten.upsample_nearest2d.vec": _nearest,
    "aten.upsample_nearest1d.default": _nearest, "aten.upsample_nearest1d.vec": _nearest,
}  # fmt: skip
