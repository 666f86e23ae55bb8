"""A reduction in two kernels: of shares, where it would leave most of a device idle, or of a window's sides in turn."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from math import prod

from kernelwright.propose.author.families.product.plan import LEAST
from kernelwright.propose.author.families.product.schedule import PROGRAMS
from kernelwright.propose.author.families.strided.plan import FEW_ON_CPU, stride
from kernelwright.propose.author.ir.expr import Call, Const, Element, Expr, Index, Reduce, transform, walk
from kernelwright.propose.author.ir.positions import plus, times, within
from kernelwright.propose.author.ir.program import Tensor, heavies, reads_long
from kernelwright.propose.author.ir.separable import STARTS, sides
from kernelwright.propose.author.rules.rule import Cut, Site

SHARES = 512
"""Into how many parts a long reduction is cut, at most."""
SHARE = 4096
"""Elements of such a part, at least, where they lie together."""
FEW_DENSE, FEW_APART = 256, 1 << 16
"""Results that leave a GPU empty: where a program makes one of them, and where each thread does."""
CORES = 64
"""Parts of the work that keep a CPU busy."""
AT_ONCE = 1 << 18
"""Threads that a device runs at once."""
TILE, LEAST_DEPTH = 128, 512
"""A side of a large tile of a product, and how many products it adds up at least where the depth is cut."""


def split_on_gpu(site: Site) -> Cut | None:
    """A long reduction of few rows, or a product of few tiles, as one over the shares of many programs."""
    size = site.lowering.size
    sizes = {a: size(a) for a in (*site.axes, *site.node.over)}
    axis = cut_axis(site.node, site.axes, sizes)
    shares = max(shares_of_rows(site.node, site.axes, axis, sizes), shares_of_product(site.node, sizes[axis], size))
    return _split(site, axis, shares, sizes)


def split_on_cpu(site: Site) -> Cut | None:
    """The same for a CPU, whose threads are few and pass over whole rows."""
    sizes = {a: site.lowering.size(a) for a in (*site.axes, *site.node.over)}
    axis = max(site.node.over, key=site.lowering.size)
    rows, every = prod(sizes[a] for a in site.axes), prod(sizes[a] for a in site.node.over)
    shares = min(CORES // rows, every // SHARE, sizes[axis]) if rows < FEW_ON_CPU else 0
    return _split(site, axis, shares, sizes)


def _split(site: Site, axis: int, shares: int, sizes: Mapping[int, int]) -> Cut | None:
    """The reduction cut along an axis; None for less than two shares."""
    if shares < 2:
        return None
    node, lowering, length = site.node, site.lowering, sizes[axis]
    each = -(-length // shares)
    share = lowering.new_axis(-(-length // each))
    inner = (lowering.new_axis(each),) if each > 1 else ()
    at = plus(times(Index(share), each), Index(inner[0])) if inner else Index(share)
    inside = within(at, length, lowering.size)
    arg = at_position(node.arg, axis, at, inside)
    if inside is not None:
        arg = nothing_outside(node, arg, inside, lowering.tensors)
    first = Reduce(node.op, arg, (*(a for a in node.over if a != axis), *inner), node.kind)
    order = beside_each_other(site.axes, (share,), shared_along(node, sizes))
    return Cut((first,), order, lambda left: {node.key: Reduce(node.op, left, (share,), node.kind)})


def separable_windows(site: Site) -> Cut | None:
    """The reduction over one side after the other (`ir/separable.py`)."""
    found = sides(site.node, site.lowering.new_axis)
    if found is None:
        return None
    order = (*site.axes, *sorted(found.first.axes - {*site.axes, found.place}), found.place)
    element, tensor = site.buffer("sides", found.first, order)
    after = site.estimate(found.first, order) + site.estimate(found.second(element), site.axes, tensor)
    before = site.estimate(site.node, site.axes)
    return Cut((found.first,), order, lambda left: {site.node.key: found.second(left)}, before, after)


FEWEST = 3
"""Shares of a product that are worth a second kernel: by two, 1024 cubed took 15 us on an H200, and 11 whole."""


def shares_of_rows(node: Reduce, axes: Sequence[int], axis: int, sizes: Mapping[int, int]) -> int:
    """For results along `axes` if what is reduced is cut along one of its axes; less than 2: it stays whole."""
    rows, every = prod(sizes[a] for a in axes), prod(sizes[a] for a in node.over)
    most, least = (FEW_DENSE, SHARE) if shared_along(node, sizes) else (FEW_APART, SHARE // 8)
    return min(SHARES, every // least, sizes[axis], AT_ONCE // rows) if rows < most else 0


def cut_axis(node: Reduce, axes: Sequence[int], sizes: Mapping[int, int]) -> int:
    """The axis to cut: the slowest in memory of those that give half as many shares as the longest one does.

    What lies together then stays in one share.
    """
    longest = max(node.over, key=lambda a: sizes[a])
    wanted = shares_of_rows(node, axes, longest, sizes)
    reads = sorted((n for n in walk(node.arg) if isinstance(n, Element)), key=lambda e: -prod(e.sizes))
    if not reads or not shared_along(node, sizes):
        return longest
    apart = {a: stride(reads[0], a, sizes) or 0 for a in node.over}
    slow = [a for a in node.over if 2 * shares_of_rows(node, axes, a, sizes) >= max(wanted, 2)]
    return max(slow, key=lambda a: (apart[a], sizes[a]), default=longest)


def shares_of_product(node: Reduce, length: int, size_of: Callable[[int], int]) -> int:
    """For a product of fewer tiles than a device works on at once (split-K); 0 for anything else."""
    match node:
        case Reduce(op="sum", kind="float", arg=Call(op="mul", args=(left, right))):
            sides = [prod(map(size_of, f.axes - g.axes)) for f, g in ((left, right), (right, left))]
            batch = prod(map(size_of, (left.axes & right.axes) - set(node.over)))
        case _:
            return 0
    if min(sides) < LEAST:
        return 0
    tiles = batch * -(-sides[0] // TILE) * -(-sides[1] // TILE)
    most = min(2 * PROGRAMS // tiles, length // LEAST_DEPTH)
    return next((n for n in range(most, FEWEST - 1, -1) if length % n == 0 and length // n % TILE == 0), 0)


def innermost(expr: Expr) -> list[Reduce]:
    """Reductions of what nothing is reduced in, but for products of numbers."""
    found: dict[str, Reduce] = {}
    for node in heavies(expr):
        if isinstance(node, Reduce):
            inside = innermost(node.arg) if heavies(node.arg) else [node]
            found |= {one.key: one for one in inside if one.op != "prod"}
    return list(found.values())


def beside_each_other(axes: Sequence[int], shares: Sequence[int], dense: bool) -> tuple[int, ...]:
    """The order in which shares are stored, so that what programs read and write together lies together."""
    return (*axes, *shares) if dense or not axes else (*axes[:-1], *shares, axes[-1])


def shared_along(node: Reduce, sizes: Mapping[int, int]) -> bool:
    """Whether what is reduced lies together, so that the threads of one program share a row."""
    reads = [n for n in walk(node.arg) if isinstance(n, Element) and not n.axes.isdisjoint(node.over)]
    apart = len({n.name for n in reads}) > 1 or len(reads) > 1
    product = apart and isinstance(node.arg, Call) and node.arg.op == "mul"
    return not product and any(stride(e, a, sizes) == 1 for e in reads for a in node.over if a in e.axes)


def at_position(expr: Expr, axis: int, position: Expr, inside: Expr | None = None) -> Expr:
    """A settled expression at another position along an axis; its elements are read where `inside`."""
    moved = transform(expr, lambda node: position if isinstance(node, Index) and node.axis == axis else node)
    if inside is None:
        return moved

    def guard(node: Expr) -> Expr:
        if isinstance(node, Element) and inside.axes <= node.axes:
            both = inside if node.inside is None else Call("and", (node.inside, inside), "bool")
            return replace(node, inside=both)
        return node

    return transform(moved, guard)


def nothing_outside(node: Reduce, arg: Expr, inside: Expr, tensors: Mapping[str, Tensor]) -> Expr:
    """What is reduced, with something in place of what lies outside that changes nothing."""
    if node.kind == "float":
        return Call("where", (inside, arg, Const(STARTS[node.op])))
    long = reads_long(arg, tensors)
    most = 2**62 if long else 2**31 - 1
    empty = Const({"sum": 0, "max": -most, "min": most}[node.op], "int")
    return Call("where", (inside, Call("int", (arg,), "int") if long else arg, empty), "int")
