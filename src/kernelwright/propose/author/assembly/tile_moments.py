"""Sum and squared distances of what a product stores, from the tiles that its kernel holds anyway: nothing is read for them.

`torch.compile` reads a convolution's whole result once more for the statistics of the norm behind it. Here each tile leaves
those of the part of a row that it has, and `moments.py` makes of them what belongs to the row.

A tile has neighbours along one side of the product alone. What a row has along the other one, as the channels of a group
norm, and along what no tile has two of, is put together with the tiles.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from math import prod
from typing import NamedTuple

from kernelwright.propose.author.assembly.moments import Stretches, at_stretch, left_of, of_stretch
from kernelwright.propose.author.families.family import Family
from kernelwright.propose.author.families.product.cost import BYTES_US
from kernelwright.propose.author.families.product.plan import TILE, WASTED, Product
from kernelwright.propose.author.plan.expr import Const, Element, Expr, Index, Reduce, transform, walk
from kernelwright.propose.author.plan.positions import digits, plus, times, within
from kernelwright.propose.author.plan.program import Kernel, Root
from kernelwright.records.tensor import ITEM_BYTES

SIZES = (TILE, TILE // 2)
"""Elements that a tile has of a row: powers of two, so that it holds no more than it needs."""
MOST_WASTED = 1 / 4
"""Share of the tiles that may lie behind the last element, where nothing better is found."""
Size = Callable[[int], int]


class TileMoments(NamedTuple):
    """What a product's kernel stores then."""

    root: Root
    """The result itself, by tiles."""
    nodes: tuple[Reduce, Reduce]
    """Sum and squared distances of each tile's part of a row."""
    axes: tuple[int, ...]
    """In which order both are stored."""
    read: tuple[int, ...]
    """The same as axes of what reads them."""
    cut: Stretches
    """What the parts are, for what reads them."""


def of_tiles(kernel: Kernel, node: Reduce, size_of: Size, new: Callable[[int], int]) -> TileMoments | None:
    """What the tiles of a product leave of the sum of its result, or of what is made of that alone; None where they cannot.

    Args:
        kernel: Of the product, which stores the result.
        node: Reads what the kernel stores and nothing else.
        size_of: Elements along an axis.
        new: Makes an axis of a length.
    """
    read = _read(kernel, node)
    dims = _dimensions(kernel, read) if read else None
    if read is None or dims is None or not isinstance(kernel.plan, Product):
        return None
    (root,) = kernel.part.roots
    run = _run(root.axes, _own(kernel.plan, [a for a in root.axes if set(dims[a]) <= set(node.over)]), size_of)
    each = _each(prod(map(size_of, run)))
    made = transform(node.arg, lambda n: root.expr if n == read else n)
    if not each or made.axes != root.expr.axes:
        return None
    tiles = _Tiles.of(root, run, each, size_of, new)
    rest = tuple(a for a in node.over if not any(a in dims[b] for b in run))
    cut = replace(tiles.cut, across=(*rest, *tiles.cut.across))
    axes = tiles.spread(root.axes, tiles.cut.across)
    known = tuple(b for a in axes for b in dims.get(a, (a,)))
    nodes = of_stretch(tiles.joined(made), tiles.cut)
    return TileMoments(tiles.stored(root, kernel.part.sizes), nodes, axes, known, cut)


def pays(family: Family, kernel: Kernel, plan: object, moments: Sequence[Root]) -> bool:
    """Whether a product's kernel that leaves moments as well takes no longer than without them and a reading of its result."""
    before, now = (family.cost(one, family.default(one)) for one in (kernel.plan, plan))
    (result,), parts = kernel.part.writes, [root.tensor for root in moments]
    saved, more = (ITEM_BYTES["float32"] * sum(prod(t.shape) for t in some) / BYTES_US for some in ([result], parts))
    return now + 2 * more <= before + saved


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


def _each(length: int) -> int:
    """Elements of such a run that are one tile's; 0 where tiles would waste too much."""
    return next((n for n in SIZES if n <= length and _wasted(length, n) <= MOST_WASTED), 0)


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
