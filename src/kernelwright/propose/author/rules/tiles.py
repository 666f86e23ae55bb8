"""A reduction over much of a product, as one over what each of its tiles leaves: the product itself is stored nowhere.

`torch.compile` writes a convolution's result down and reads it again to average it; this writes one number for each tile.
Only where nothing else reads the product.
"""

from collections.abc import Callable, Sequence
from dataclasses import replace
from math import prod

from kernelwright.propose.author.families.product.plan import TILE, factors, fills
from kernelwright.propose.author.families.product.schedule import BYTES_US
from kernelwright.propose.author.families.strided.plan import stride
from kernelwright.propose.author.ir.expr import Element, Expr, Index, Reduce, transform, walk
from kernelwright.propose.author.ir.positions import plus, times, within
from kernelwright.propose.author.ir.program import Part, heavies
from kernelwright.propose.author.ir.separable import STARTS
from kernelwright.propose.author.rules.rule import Cut, Site, stored_axes
from kernelwright.propose.author.rules.split_reduction import at_position, nothing_outside
from kernelwright.records.tensor import ITEM_BYTES

SIZES = range(TILE, TILE // 2 - 1, -1)
"""Elements of a long axis that are one tile's."""


def reductions(expr: Expr) -> list[Reduce]:
    """All of them, those within others first."""
    return [node for node in walk(expr) if isinstance(node, Reduce)]


def over_tiles(site: Site) -> Cut | None:
    """What tiles of the product leave, against storing the product and reading it."""
    node, root, part = site.node, site.root, site.part
    product = _of_product(node, root.expr, part)
    side = _on_a_side(node, product, part) if product else []
    if product is None or not side:
        return None
    tile, across = _cut(node, side, part, site.lowering.new_axis)
    axes = stored_axes(node, root.axes)
    stored = (*axes, *node.over)
    read = ITEM_BYTES["float32"] * part.count(stored) / BYTES_US
    after = site.estimate(tile, (*axes, *across))
    if after == 0.0:
        return None
    before = site.estimate(product, stored) + read
    return Cut((tile,), (*axes, *across), lambda left: {node.key: Reduce(node.op, left, across)}, before, after)


def _of_product(node: Reduce, expr: Expr, part: Part) -> Reduce | None:
    """The product over a long part of which floats are reduced, if nothing else reads it."""
    inner = heavies(node.arg)
    if node.op not in STARTS or node.kind != "float" or len(inner) != 1 or part.count(node.over) <= TILE:
        return None
    (product,) = inner
    alone = product not in walk(transform(expr, _without(node)))
    return product if alone and isinstance(product, Reduce) and factors(part, product) else None


def _without(node: Reduce) -> Callable[[Expr], Expr]:
    return lambda other: Index(node.over[0]) if other == node else other


def _on_a_side(node: Reduce, product: Reduce, part: Part) -> list[int]:
    """Axes that are reduced and that one factor has alone; none where each has some."""
    left, right = factors(part, product) or (product, product)
    own = [[a for a in node.over if a in one.axes - other.axes] for one, other in ((left, right), (right, left))]
    return [] if all(own) or set(node.over) - left.axes - right.axes else own[0] or own[1]


def _cut(node: Reduce, side: Sequence[int], part: Part, new: Callable[[int], int]) -> tuple[Reduce, tuple[int, ...]]:
    """What a tile leaves, of the axis of a side that lies together in memory, and the other axes."""
    reads = sorted((n for n in walk(node.arg) if isinstance(n, Element)), key=lambda e: -prod(e.sizes))
    apart = {a: abs(stride(reads[0], a, part.sizes) or 0) or 1 << 40 for a in side}
    axis = min(side, key=lambda a: apart[a])
    rest, length = tuple(a for a in node.over if a != axis), part.sizes[axis]
    if length <= TILE and fills(length):
        return replace(node, over=(axis,)), rest
    each = next((n for n in SIZES if length % n == 0 and fills(n)), TILE)
    outer, inner = new(-(-length // each)), new(each)
    at = plus(times(Index(outer), each), Index(inner))
    inside = within(at, length, lambda a: {outer: -(-length // each), inner: each}.get(a) or part.sizes[a])
    arg = at_position(node.arg, axis, at, inside)
    if inside is not None:
        arg = nothing_outside(node, arg, inside, part.tensors)
    return replace(node, arg=arg, over=(inner,)), (*rest, outer)
