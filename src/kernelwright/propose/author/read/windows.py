"""PyTorch's operations on sliding windows: poolings, convolutions, and windows laid out as columns.

A window is an axis of its own: position = place * stride + step * dilation - padding. A pooling reduces over the windows'
axes, a convolution sums products over them and the channels.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from kernelwright.errors import ProposeError
from kernelwright.propose.author.ir.axes import Dim
from kernelwright.propose.author.ir.expr import Call, Expr
from kernelwright.propose.author.ir.positions import every, plus, quotient, remainder, times, whole, within
from kernelwright.propose.author.read.builder import Arguments, Builder, Result, Rule, Value


@dataclass(frozen=True)
class Window:
    """How a window slides along one dimension."""

    size: int
    stride: int = 1
    padding: int = 0
    dilation: int = 1
    ceil: bool = False
    after: int | None = None
    """Padding behind the data where it differs from that before it."""

    @property
    def reach(self) -> int:
        """Elements from the first to the last of a window."""
        return self.dilation * (self.size - 1) + 1

    def places(self, length: int) -> int:
        """How many windows there are."""
        after = self.padding if self.after is None else self.after
        room = length + self.padding + after - self.reach
        count = -(-room // self.stride) if self.ceil else room // self.stride
        if self.ceil and count * self.stride >= length + self.padding:
            count -= 1
        return count + 1


def slid(b: Builder, x: Value, windows: Sequence[Window], fill: float) -> Value:
    """The last dimensions as windows: their places, and then the steps within them; `fill` outside the data."""
    steps, conditions = list[Dim](), list[Expr | None]()
    for dim, window in enumerate(windows, len(x.shape) - len(windows)):
        length = x.size(dim)
        place, step = b.axes.fresh([window.places(length), window.size])
        at = plus(times(b.position(place), window.stride), times(b.position(step), window.dilation))
        at = plus(at, whole(-window.padding))
        inside = within(at, length, b.axes.length)
        x = b.pick(x, dim, at, place, inside)
        steps.append(step)
        conditions.append(inside)
    found = x.floating.where(every(conditions), fill)
    return found.shaped((*found.shape, *steps))


def _each(a: Arguments, name: str, rank: int, default: int) -> tuple[int, ...]:
    given = a.dims(name)
    if not given:
        return (default,) * rank
    return given * rank if len(given) == 1 else given


def _pool_windows(a: Arguments, rank: int) -> list[Window]:
    sizes = _each(a, "kernel_size", rank, 1)
    strides = _each(a, "stride", rank, 0) if a.dims("stride") else sizes
    pads, dilations = _each(a, "padding", rank, 0), _each(a, "dilation", rank, 1)
    ceil = a.flag("ceil_mode")
    return [Window(*four, ceil=ceil) for four in zip(sizes, strides, pads, dilations, strict=True)]


def _average_pool(rank: int) -> Rule:
    def rule(b: Builder, a: Arguments) -> Value:
        x, windows = a.tensor("self"), _pool_windows(a, rank)
        partial = any(w.padding or w.ceil for w in windows)
        if partial and (not a.flag("count_include_pad", default=True) or any(w.ceil for w in windows)):
            raise ProposeError(f"{a.node.op} whose windows count differently many elements")
        found = slid(b, x, windows, 0.0)
        total = b.reduce("sum", found, range(-rank, 0), keep=False)
        count = 1
        for window in windows:
            count *= window.size
        return total / a.number("divisor_override", count)

    return rule


def _max_pool(rank: int) -> Rule:
    def rule(b: Builder, a: Arguments) -> Value:
        found = slid(b, a.tensor("self"), _pool_windows(a, rank), float("-inf"))
        return b.reduce("amax", found, range(-rank, 0), keep=False)

    return rule


def _without_places(rule: Rule) -> Rule:
    """With a second result, of places, that is not written."""

    def both(b: Builder, a: Arguments) -> Result:
        found = rule(b, a)
        return found if isinstance(found, tuple) else (found, None)

    return both


def _adaptive(rank: int, op: str) -> Rule:
    def rule(b: Builder, a: Arguments) -> Value:
        x, sizes = a.tensor("self"), _each(a, "output_size", rank, 1)
        found, counts = shared_out(b, x, sizes, float("-inf") if op == "amax" else 0.0)
        total = b.reduce("amax" if op == "amax" else "sum", found, range(-rank, 0), keep=False)
        return total if op == "amax" else total / counts

    return rule


def shared_out(b: Builder, x: Value, sizes: Sequence[int], fill: float) -> tuple[Value, Value]:
    """The last dimensions cut into so many windows each, and the elements of a window.

    Window i of n along a length begins at floor(i * length / n) and ends before ceil((i + 1) * length / n).
    """
    first, count, each = len(x.shape) - len(sizes), b.value(1.0), 1
    steps, conditions = list[Dim](), list[Expr | None]()
    for number, size in enumerate(sizes):
        dim, length = first + number, x.size(first + number)
        if length % size == 0:
            x = x if len(b.axes.resolve(x.shape[dim])) < 2 else b.renamed(x)  # it may be split in other parts already
            place, step = b.axes.view((x.shape[dim],), (size, length // size))
            x, each = x.spliced(dim, place), each * (length // size)
        else:
            x, step, inside, width = _uneven(b, x, dim, size)
            count = count * width.shaped((*width.shape, *((),) * (len(sizes) - number - 1)))
            conditions.append(inside)
        steps.append(step)
    found = x.floating.where(every(conditions), fill)
    return found.shaped((*found.shape, *steps)), count * float(each) if conditions else b.value(float(each))


def _uneven(b: Builder, x: Value, dim: int, size: int) -> tuple[Value, Dim, Expr, Value]:
    """A dimension as windows of which some are longer: the tensor, steps, which of them count, and how many do."""
    length = x.size(dim)
    reach = max(-(-(i + 1) * length // size) - i * length // size for i in range(size))
    place, step = b.axes.fresh([size, reach])
    scaled = times(b.position(place), length)
    begin, end = quotient(scaled, size), quotient(plus(scaled, whole(length + size - 1)), size)
    at = plus(begin, b.position(step))
    inside = Call("lt", (at, end), "bool")
    width = b.new(Call("float", (Call("sub", (end, begin), "int"),)), (place,))
    return b.pick(x, dim, at, place, inside), step, inside, width


def _convolution(rank: int) -> Rule:
    def rule(b: Builder, a: Arguments) -> Value:
        x, weight = a.tensor("input"), a.tensor("weight")
        if a.flag("transposed"):
            return _transposed(b, a, len(x.shape) - 2)
        inner = rank or len(x.shape) - 2
        if len(x.shape) == inner + 1:
            raise ProposeError(f"{a.node.op} without a batch")
        pads, ends = _pads(b, a, weight, inner)
        sizes = [b.axes.size(dim) for dim in weight.shape[2:]]
        each = zip(sizes, _each(a, "stride", inner, 1), pads, _each(a, "dilation", inner, 1), ends, strict=True)
        windows = [Window(size, stride, pad, dilation, after=end) for size, stride, pad, dilation, end in each]
        return correlated(b, slid(b, x, windows, 0.0), weight, a.optional("bias"), a.integer("groups", 1))

    return rule


def _pads(b: Builder, a: Arguments, weight: Value, rank: int) -> tuple[tuple[int, ...], tuple[int, ...]]:
    given = a.raw("padding")
    if not isinstance(given, str):
        pads = _each(a, "padding", rank, 0)
        return pads, pads
    if given == "valid":
        return (0,) * rank, (0,) * rank
    dilations = _each(a, "dilation", rank, 1)
    totals = [d * (b.axes.size(dim) - 1) for d, dim in zip(dilations, weight.shape[2:], strict=True)]
    return tuple(t // 2 for t in totals), tuple(t - t // 2 for t in totals)


def correlated(b: Builder, found: Value, weight: Value, bias: Value | None, groups: int) -> Value:
    """Windows [batch, channels, *places, *steps] with filters [out, channels of a group, *steps].

    Raises:
        ProposeError: channels that cannot be split into groups.
    """
    rank = (len(found.shape) - 2) // 2
    batch, channels, rest = found.shape[0], found.shape[1], found.shape[2:]
    places, steps = rest[:rank], rest[rank:]
    ones: tuple[Dim, ...] = ((),) * rank
    weight = b.renamed(weight)  # or two convolutions with one filter would take each other's axes for theirs
    group, inner = b.axes.view((channels,), (groups, -1))
    filters, out = b.axes.view((weight.shape[0],), (groups, -1))
    left = found.shaped((batch, group, (), *places, inner, *steps))
    right = weight.shaped(((), filters, out, *ones, *weight.shape[1:]))
    merged = b.reduce("sum", left * right, range(-rank - 1, 0), keep=False).merged(1)
    return merged if bias is None else merged + bias.shaped((bias.shape[0], *ones))


def _transposed(b: Builder, a: Arguments, rank: int) -> Value:
    """Each result gathers what the strided convolution would have scattered to it."""
    x, weight, groups = a.tensor("input"), a.tensor("weight"), a.integer("groups", 1)
    strides, pads = _each(a, "stride", rank, 1), _each(a, "padding", rank, 0)
    dilations, extra = _each(a, "dilation", rank, 1), _each(a, "output_padding", rank, 0)
    steps, conditions = list[Dim](), list[Expr | None]()
    for number in range(rank):
        dim, stride, pad = 2 + number, strides[number], pads[number]
        length, size = x.size(dim), weight.size(dim)
        reach = dilations[number] * (size - 1)
        places = (length - 1) * stride - 2 * pad + reach + extra[number] + 1
        if stride > 1 and dilations[number] == 1 and places % stride == 0:
            x, weight, step, condition = _in_phases(b, x, weight, dim, Window(size, stride, pad), places)
        else:
            place, step = b.axes.fresh([places, size])
            at = plus(b.position(place), times(b.position(step), -dilations[number]))
            at = plus(at, whole(pad))
            inside = within(quotient(at, stride), length, b.axes.length)
            hit = None if stride == 1 else Call("eq", (remainder(at, stride), whole(0)), "bool")
            positive = None if stride == 1 or pad >= reach else Call("ge", (at, whole(0)), "bool")
            condition = every((positive, inside, hit))
            x = b.pick(x, dim, quotient(at, stride), place, condition)
        steps.append(step)
        conditions.append(condition)
    found = x.floating.where(every(conditions))
    found = found.shaped((*found.shape, *steps))
    group, inner = b.axes.view((weight.shape[0],), (groups, -1))
    filters = weight.shaped(((*group, *weight.shape[1]), inner, *weight.shape[2:]))
    return correlated(b, found, filters, a.optional("bias"), groups)


def _in_phases(
    b: Builder, x: Value, weight: Value, dim: int, window: Window, places: int
) -> tuple[Value, Value, Dim, Expr | None]:
    """One dimension of a strided transposed convolution: results a stride apart take the same taps of the filter alone.

    Returns the tensor and the filter along the places and the taps of a phase, the taps, and where the tensor has elements.
    """
    stride, length = window.stride, x.size(dim)
    count = -(-window.size // stride)
    turn, phase, step, own = b.axes.fresh([places // stride, stride, count, count])
    ahead = plus(b.position(phase), whole(window.padding))
    at = plus(plus(b.position(turn), quotient(ahead, stride)), times(b.position(step), -1))
    inside = within(at, length, b.axes.length)
    # The filter's taps are an axis of its own until the two are multiplied, as of any other factor.
    tap = plus(remainder(ahead, stride), times(b.position(own), stride))
    there = within(tap, window.size, b.axes.length)
    weight = b.pick(weight, dim, tap, own, there)
    weight = weight if there is None else weight.floating.where(there)
    return b.pick(x, dim, at, (*turn, *phase), inside), weight, step, inside


def _columns(b: Builder, a: Arguments) -> Value:
    """Windows as columns: [batch, channels * steps, places]."""
    defaults = {"kernel_size": 1, "stride": 1, "padding": 0, "dilation": 1}
    given = (_each(a, name, 2, default) for name, default in defaults.items())
    found = slid(b, a.tensor("self"), [Window(*four) for four in zip(*given, strict=True)], 0.0)
    batch, channels, tall, wide, down, across = found.shape
    return found.shaped((batch, (*channels, *down, *across), (*tall, *wide)))


def _linear(rank: int) -> Rule:
    """Upsampling between neighbours, dimension by dimension."""

    def rule(b: Builder, a: Arguments) -> Value:
        x, given = a.tensor("input" if a.raw("input") is not None else "self"), a.numbers("scale_factors")
        for number in range(rank):
            dim = len(x.shape) - rank + number
            length, sizes = x.size(dim), a.dims("output_size")
            size = sizes[number] if sizes else int(length * given[number])
            if given and size != length * given[number]:
                raise ProposeError("upsampling by a factor that does not make whole lengths")
            x = _between(b, x, dim, size, a.flag("align_corners"))
        return x

    return rule


def _between(b: Builder, x: Value, dim: int, size: int, corners: bool) -> Value:
    """A dimension at other positions, in whole numbers: position i lies at (i * step + shift) / parts."""
    length = x.size(dim)
    step, shift, parts = (length - 1, 0, size - 1) if corners else (2 * length, length - size, 2 * size)
    (new,) = b.axes.fresh([size])
    if not new or size == length or parts < 1:
        raise ProposeError("upsampling to one element, or to the same length")
    scaled = plus(times(b.position(new), step), whole(shift))
    scaled = scaled if shift >= 0 else Call("max", (scaled, whole(0)), "int")
    below = quotient(scaled, parts)
    above = Call("min", (plus(below, whole(1)), whole(length - 1)), "int")
    share = b.new(remainder(scaled, parts), (new, *((),) * (len(x.shape) - dim - 1))) / float(parts)
    low, high = b.pick(x, dim, below, new), b.pick(x, dim, above, new)
    return low + share * (high - low)


WINDOWS: dict[str, Rule] = {
    **{f"aten.avg_pool{n}d.default": _average_pool(n) for n in (1, 2, 3)},
    **{f"aten.max_pool{n}d.default": _max_pool(n) for n in (1, 2, 3)},
    **{f"aten.max_pool{n}d_with_indices.default": _without_places(_max_pool(n)) for n in (1, 2, 3)},
    **{f"aten.adaptive_avg_pool{n}d.default": _adaptive(n, "mean") for n in (1, 2, 3)},
    **{f"aten.adaptive_max_pool{n}d.default": _without_places(_adaptive(n, "amax")) for n in (1, 2, 3)},
    "aten._adaptive_avg_pool2d.default": _adaptive(2, "mean"),
    "aten._adaptive_avg_pool3d.default": _adaptive(3, "mean"),
    **{f"aten.conv{n}d.{kind}": _convolution(n) for n in (1, 2, 3) for kind in ("default", "padding")},
    "aten.convolution.default": _convolution(0),
    "aten.conv_transpose1d.default": lambda b, a: _transposed(b, a, 1),
    "aten.conv_transpose2d.input": lambda b, a: _transposed(b, a, 2),
    "aten.conv_transpose3d.input": lambda b, a: _transposed(b, a, 3),
    "aten.im2col.default": _columns,
    "aten.upsample_bilinear2d.vec": _linear(2), "aten.upsample_bilinear2d.default": _linear(2),
    "aten.upsample_linear1d.vec": _linear(1), "aten.upsample_linear1d.default": _linear(1),
    "aten.upsample_trilinear3d.vec": _linear(3), "aten.upsample_trilinear3d.default": _linear(3),
}  # fmt: skip
