"""Sum and squared distances of long rows: from one reading of them, or from the tiles of the product that makes them.

Several programs make the moments of stretches of a row, or of the part of a row that a product's tile holds anyway, for which
nothing is read; `torch.compile` reads a convolution's whole result once more for the statistics of the norm behind it. A
second kernel makes of these what belongs to the row (Chan, Golub and LeVeque 1983).

A tile has neighbours along one side of the product alone. What a row has along the other one, as the channels of a group
norm, and along what no tile has two of, is put together with the tiles.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from math import prod
from typing import NamedTuple

from kernelwright.propose.author.families.product.plan import TILE, WASTED, Product
from kernelwright.propose.author.families.product.schedule import BYTES_US
from kernelwright.propose.author.families.strided.plan import FEW, stride
from kernelwright.propose.author.ir.expr import Call, Const, Element, Expr, Index, Reduce, replaced, transform, walk
from kernelwright.propose.author.ir.positions import digits, plus, times, whole, within
from kernelwright.propose.author.ir.program import Kernel, Root, Tensor
from kernelwright.propose.author.rules.rule import Cut, Site
from kernelwright.propose.author.rules.split_reduction import at_position, beside_each_other
from kernelwright.records.tensor import ITEM_BYTES

LONG_ROW, LONG_APART = 1 << 15, 1 << 10
"""Elements of a row from which on no program holds it, where they lie together and where they lie apart."""
LEAST, HELD = 2048, 16384
"""Elements of a stretch, at least (or half of it, where no other length suits) and at most.

A program of sixteen warps has 32 of the most in each thread's registers.
"""
LEAST_APART, HELD_APART = 64, 128
"""The same where a stretch's elements lie apart, and a program holds those of many rows beside each other."""
PROGRAMS = 1024
"""Stretches that keep a device busy."""
MOST_TOGETHER, GROUPS = 4096, 256
"""Stretches of a row that one program puts together at most, and into how many groups more than these are put first."""


@dataclass(frozen=True)
class Stretches:
    """How rows are cut."""

    inside: tuple[int, ...]
    """Axes of a stretch."""
    across: tuple[int, ...]
    """Axes over the stretches of a row."""
    count: Expr
    """Elements of a stretch: the last one along an axis may be shorter."""
    cut: tuple[tuple[int, Expr], ...] = ()
    """Axes that are cut, with the positions along them."""
    holds: Expr | None = None
    """Where these positions exist; None: everywhere."""


def stretches(
    over: Sequence[int], rows: int, dense: bool, size_of: Callable[[int], int], new: Callable[[int], int]
) -> Stretches | None:
    """Stretches of so many rows over these axes, slowest first; None where none are long enough.

    They are of equal length where the axis that is cut has such a divisor; else the last one is shorter.

    `dense` says whether neighbours in a row lie together. `new` makes an axis of a length.
    """
    every = prod(map(size_of, over))
    enough, held = (LEAST, HELD) if dense else (LEAST_APART, HELD_APART)
    least, most = enough // 2, min(held, max(enough, rows * every // PROGRAMS))
    rest, inside, count = list(over), list[int](), 1
    while rest and count * size_of(rest[-1]) <= most:
        count *= size_of(rest[-1])
        inside.insert(0, rest.pop())
    if not rest:
        return None
    length = size_of(rest[-1])
    part = _part(length, most // count, -(-least // count))
    if count * part < least or rows * every < FEW * count * part:
        return None
    if part == 1:
        return Stretches(tuple(inside), tuple(rest), Const(float(count)))
    outer, inner = new(-(-length // part)), new(part)
    at = plus(times(Index(outer), part), Index(inner))
    holds = within(at, length, size_of)
    elements = Const(float(count * part)) if holds is None else left_of(length, outer, part, count)
    return Stretches((inner, *inside), (*rest[:-1], outer), elements, ((rest[-1], at),), holds)


def left_of(length: int, outer: int, part: int, count: int = 1) -> Expr:
    """Elements of a part of a length, of so many each: the last part is shorter."""
    left = Call("min", (whole(part), plus(whole(length), times(Index(outer), -part))), "int")
    return Call("float", (times(left, count),))


def _part(length: int, most: int, least: int) -> int:
    """Into what an axis is cut: its largest divisor, if that is long enough, else as many parts as must be."""
    divisor = max(n for n in range(1, most + 1) if length % n == 0)
    return divisor if divisor >= least or most < least else -(-length // -(-length // most))


def squared_distances(total: Reduce, expr: Expr) -> Reduce | None:
    """Within `expr`, the sum of squared distances of what `total` sums from something that is made of `total`."""
    for node in walk(expr):
        match node:
            case Reduce(op="sum", kind="float", arg=Call(op="mul", args=(Call(op="sub", args=(x, centre)) as d, same))):
                alike = d == same and x == total.arg and set(node.over) == set(total.over)
                if alike and centre.axes.isdisjoint(node.over) and total in walk(centre):
                    return node
    return None


def of_stretch(arg: Expr, cut: Stretches) -> tuple[Reduce, Reduce]:
    """Sum and squared distances of each stretch."""
    term = at_stretch(arg, cut)
    total = Reduce("sum", _where(cut.holds, term), cut.inside)
    gap = Call("sub", (term, _mean(total, cut)))
    return total, Reduce("sum", _where(cut.holds, Call("mul", (gap, gap))), cut.inside)


def at_stretch(expr: Expr, cut: Stretches) -> Expr:
    """An expression at the positions of a stretch, where they exist."""
    for number, (axis, position) in enumerate(cut.cut, 1):
        expr = at_position(expr, axis, position, cut.holds if number == len(cut.cut) else None)
    return expr


def _where(holds: Expr | None, term: Expr) -> Expr:
    return term if holds is None else Call("where", (holds, term, Const(0.0)))


def _mean(total: Expr, cut: Stretches) -> Expr:
    match cut.count:
        case Const(value=count):
            return Call("mul", (total, Const(1.0 / count)))
    return Call("div", (total, cut.count))


def of_row(totals: Expr, squares: Expr, centre: Expr, cut: Stretches) -> Reduce:
    """Squared distances of a row from `centre`, of those of its stretches."""
    gap = Call("sub", (_mean(totals, cut), centre))
    between = Call("mul", (cut.count, Call("mul", (gap, gap))))
    return Reduce("sum", Call("add", (squares, between)), cut.across)


def grouped(cut: Stretches, rows: int, size_of: Callable[[int], int]) -> tuple[int, ...]:
    """Over which axes the stretches of few rows are put together first, where each row has many; none elsewhere."""
    rest = cut.across
    if rows >= FEW or prod(map(size_of, rest)) <= MOST_TOGETHER:
        return ()
    while rest == cut.across or prod(map(size_of, rest)) > GROUPS:
        rest = rest[:-1]
    return cut.across[len(rest) :] if rest else ()


def of_group(totals: Expr, squares: Expr, count: int, cut: Stretches) -> tuple[Reduce, Reduce]:
    """Sum and squared distances of so many elements, of those of the stretches that make them up."""
    total = Reduce("sum", totals, cut.across)
    return total, of_row(totals, squares, Call("mul", (total, Const(1.0 / count))), cut)


SIZES = (TILE, TILE // 2)
"""Elements that a tile has of a row: powers of two, so that it holds no more than it needs."""
MOST_WASTED = 1 / 4
"""Share of the tiles that may lie behind the last element, where nothing better is found."""
Size = Callable[[int], int]


def _read(kernel: Kernel, node: Reduce) -> Element | None:
    """How the reduction reads a product's one result, where that has all digits."""
    elements = [n for n in walk(node.arg) if isinstance(n, Element)]
    if (
        not isinstance(kernel.plan, Product)
        or kernel.plan.reductions
        or len(kernel.part.roots) > 1
        or len(elements) != 1
    ):
        return None
    (root,) = kernel.part.roots
    alike = elements[0].name == root.tensor.name and root.tensor.dtype == "float32" and root.scatter is None
    return elements[0] if alike and elements[0].inside is None else None


def _dimensions(kernel: Kernel, read: Element) -> dict[int, tuple[int, ...]] | None:
    """By each axis of a kernel's result the axes that it is read along, from end to end; None where it is read otherwise."""
    if not all(isinstance(index, Index) for index in read.index):
        return None
    (root,) = kernel.part.roots
    left, found = [(i.axis, size) for i, size in zip(read.index, read.sizes, strict=True) if isinstance(i, Index)], {}
    for axis in root.axes:
        along, count = list[int](), 1
        while left and count < kernel.part.sizes[axis]:
            along.append(left[0][0])
            count *= left.pop(0)[1]
        if count != kernel.part.sizes[axis]:
            return None
        found[axis] = tuple(along)
    return None if left else found


def _own(plan: Product, over: Sequence[int]) -> list[int]:
    """Those of the side that has the fastest of these axes."""
    sides = (plan.left.axes - plan.right.axes, plan.right.axes - plan.left.axes)
    return max(([a for a in over if a in side] for side in sides), key=lambda own: over.index(own[-1]) if own else -1)


def _run(axes: Sequence[int], own: Sequence[int], size_of: Size) -> tuple[int, ...]:
    """The fastest of a side's axes that tiles can cut as one: as few as waste little.

    Those that lie together are one for a store as well, which is wide then whatever their lengths.
    """
    run: tuple[int, ...] = ()
    for axis in reversed(own):
        wasted = _wasted(prod(map(size_of, run)), TILE)
        if wasted == 0 or (wasted <= WASTED and axes.index(axis) + 1 != axes.index(run[0])):
            break
        run = (axis, *run)
    return run


def _wasted(length: int, each: int) -> float:
    """Share of the tiles that lies behind the last element."""
    return 1 - length / (-(-length // each) * each)


@dataclass(frozen=True)
class _Tiles:
    """A run of axes by tiles."""

    run: tuple[int, ...]
    sizes: tuple[int, ...]
    whole: int | None
    """An axis that stands for all of the run, where its axes lie together."""
    cut: Stretches

    @classmethod
    def of(cls, root: Root, run: tuple[int, ...], each: int, size_of: Size, new: Callable[[int], int]) -> "_Tiles":
        """Tiles of so many elements; a run that is no longer is not cut."""
        sizes = tuple(map(size_of, run))
        length = prod(sizes)
        if length == each:
            return cls(run, sizes, None, Stretches(run, (), Const(float(each))))
        adjacent = len(run) > 1 and root.axes.index(run[-1]) - root.axes.index(run[0]) == len(run) - 1
        whole, outer, inner = new(length) if adjacent else None, new(-(-length // each)), new(each)
        at = plus(times(Index(outer), each), Index(inner))
        holds = within(at, length, size_of)
        places = [*zip(run, digits(at, sizes), strict=True), *([(whole, at)] if whole is not None else [])]
        count = Const(float(each)) if holds is None else left_of(length, outer, each)
        return cls(run, sizes, whole, Stretches((inner,), (outer,), count, tuple(places), holds))

    def spread(self, axes: Sequence[int], instead: Sequence[int]) -> tuple[int, ...]:
        """The axes with others in place of the run, where its last one was."""
        last = self.run[-1]
        return tuple(b for a in axes if a == last or a not in self.run for b in (instead if a == last else (a,)))

    def joined(self, expr: Expr) -> Expr:
        """With one dimension in place of those that the run's axes are from end to end, so that neighbours stay neighbours."""
        along, count = tuple(map(Index, self.run)), len(self.run)

        def change(node: Expr) -> Expr:
            if not isinstance(node, Element) or self.whole is None:
                return node
            for at in range(len(node.index) - count + 1):
                if node.index[at : at + count] == along and node.sizes[at : at + count] == self.sizes:
                    index = (*node.index[:at], Index(self.whole), *node.index[at + count :])
                    sizes = (*node.sizes[:at], prod(self.sizes), *node.sizes[at + count :])
                    return replace(node, index=index, sizes=sizes)
            return node

        return transform(expr, change)

    def stored(self, root: Root, sizes: Mapping[int, int]) -> Root:
        """What is stored, by tiles."""
        if not self.cut.cut:
            return root
        plain = Element(root.tensor.name, tuple(sizes[a] for a in root.axes), tuple(map(Index, root.axes)))
        expr, element = (at_stretch(self.joined(one), self.cut) for one in (root.expr, plain))
        assert isinstance(element, Element)
        return replace(
            root, axes=self.spread(root.axes, (*self.cut.across, *self.cut.inside)), expr=expr, element=element
        )


class _Rows(NamedTuple):
    """Long rows of which the sum and the squared distances from their mean are wanted."""

    spread: Reduce
    over: tuple[int, ...]
    """Axes of a row, slowest first."""
    axes: tuple[int, ...]
    """Axes of the rows."""
    dense: bool
    """Whether neighbours in a row lie together."""

    def order(self, across: Sequence[int]) -> tuple[int, ...]:
        """In which axes what parts of rows leave is stored."""
        return beside_each_other(self.axes, across, self.dense)


def _long_rows(site: Site) -> _Rows | None:
    """What a sum is over, if squared distances from what is made of it are wanted too, and no program holds a row."""
    node, size = site.node, site.lowering.size
    spread = squared_distances(node, site.root.expr) if node.op == "sum" else None
    axes = (*site.axes, *sorted(node.axes - set(site.axes)))
    sizes = {a: size(a) for a in (*axes, *node.over)}
    reads = sorted((n for n in walk(node.arg) if isinstance(n, Element)), key=lambda e: -prod(e.sizes))
    if spread is None or not reads:
        return None
    apart = {a: stride(reads[0], a, sizes) or 0 for a in (*node.over, *axes)}
    over = sorted(node.over, key=lambda a: -apart[a])
    dense, beside = apart[over[-1]] == 1, bool(axes) and apart[axes[-1]] == 1
    long = prod(sizes[a] for a in node.over) > (LONG_ROW if dense else LONG_APART)
    return _Rows(spread, tuple(over), axes, dense) if long and (dense or beside) else None


def moments_of_stretches(site: Site) -> Cut | None:
    """Sum and squared distances of the stretches of rows, from one reading."""
    rows, size = _long_rows(site), site.lowering.size
    if rows is None:
        return None
    cut = stretches(rows.over, prod(map(size, rows.axes)), rows.dense, size, site.lowering.new_axis)
    if cut is None:
        return None
    nodes, order = of_stretch(site.node.arg, cut), rows.order(cut.across)
    if site.lowering.matched(_two_roots(site, nodes, order), site.lowering.tensors) is None:
        return None
    return Cut(nodes, order, lambda totals, squares: _whole_rows(site, rows, totals, squares, cut))


def moments_of_tiles(site: Site) -> Cut | None:
    """The same of the tiles of the product that made what is read, and nothing else is read for them."""
    rows, kernel, size = _long_rows(site), _made_by(site), site.lowering.size
    if rows is None or kernel is None or not isinstance(kernel.plan, Product):
        return None
    read = _read(kernel, site.node)
    dims = _dimensions(kernel, read) if read else None
    if read is None or dims is None:
        return None
    (root,) = kernel.part.roots
    run = _run(root.axes, _own(kernel.plan, [a for a in root.axes if set(dims[a]) <= set(rows.over)]), size)
    length = prod(map(size, run))
    each = next((n for n in SIZES if n <= length and _wasted(length, n) <= MOST_WASTED), 0)
    made = transform(site.node.arg, lambda n: root.expr if n == read else n)
    if not each or made.axes != root.expr.axes:
        return None
    tiles = _Tiles.of(root, run, each, size, site.lowering.new_axis)
    rest = tuple(a for a in rows.over if not any(a in dims[b] for b in run))
    cut = replace(tiles.cut, across=(*rest, *tiles.cut.across))
    axes = tiles.spread(root.axes, tiles.cut.across)
    known = tuple(b for a in axes for b in dims.get(a, (a,)))
    nodes = of_stretch(tiles.joined(made), tiles.cut)
    result = tiles.stored(root, kernel.part.sizes)
    costs = _costs(site, kernel, result, _two_roots(site, nodes, axes))
    if costs is None:
        return None
    return Cut(
        nodes, axes, lambda totals, squares: _grouped(site, rows, totals, squares, cut), *costs, (kernel, result), known
    )


def _costs(site: Site, kernel: Kernel, result: Root, roots: Sequence[Root]) -> tuple[float, float] | None:
    """What a kernel and one more reading of its result take, and what the kernel takes that leaves moments as well.

    None where its family does not make both.
    """
    both = site.lowering.matched((result, *roots), kernel.part.tensors)
    if both is None or both.family != kernel.family:
        return None
    read, more = (
        ITEM_BYTES["float32"] * sum(prod(t.shape) for t in some) / BYTES_US
        for some in (kernel.part.writes, [root.tensor for root in roots])
    )
    return site.lowering.cost(kernel) + read, site.lowering.cost(both) + 2 * more


def _grouped(site: Site, rows: _Rows, totals: Element, squares: Element, cut: Stretches) -> Cut | Mapping[str, Expr]:
    """Moments of groups of a row's stretches, where one program would have too many to put together."""
    size = site.lowering.size
    over = grouped(cut, prod(map(size, rows.axes)), size)
    rest = cut.across[: len(cut.across) - len(over)]
    each = prod(map(size, rows.over)) // prod(map(size, rest))
    nodes, order = of_group(totals, squares, each, replace(cut, across=over)), rows.order(rest)
    if not over or site.lowering.matched(_two_roots(site, nodes, order), site.lowering.tensors) is None:
        return _whole_rows(site, rows, totals, squares, cut)
    groups = Stretches((), rest, Const(float(each)))
    return Cut(nodes, order, lambda totals, squares: _whole_rows(site, rows, totals, squares, groups))


def _whole_rows(site: Site, rows: _Rows, totals: Expr, squares: Expr, cut: Stretches) -> dict[str, Expr]:
    """Sum and squared distances of whole rows, of those of their parts."""
    whole = Reduce("sum", totals, cut.across)
    assert isinstance(rows.spread.arg, Call) and isinstance(rows.spread.arg.args[0], Call)
    centre = replaced(rows.spread.arg.args[0].args[1], {site.node.key: whole})
    return {site.node.key: whole, rows.spread.key: of_row(totals, squares, centre, cut)}


def _made_by(site: Site) -> Kernel | None:
    """The kernel that made the one buffer that is read."""
    names = {n.name for n in walk(site.node.arg) if isinstance(n, Element)}
    made = [kernel for kernel in site.lowering.kernels if names == {t.name for t in kernel.part.writes}]
    return made[0] if len(made) == 1 else None


def _two_roots(site: Site, nodes: Sequence[Reduce], axes: tuple[int, ...]) -> tuple[Root, ...]:
    """Two reductions of the same rows as roots of one kernel that is only estimated."""
    shape = tuple(map(site.lowering.size, axes))
    tensors = (Tensor(f"moment {n}", f"moment{n}", shape, "float32", (0,) * bool(axes)) for n in range(len(nodes)))
    return tuple(Root(tensor, axes, node) for tensor, node in zip(tensors, nodes, strict=True))
