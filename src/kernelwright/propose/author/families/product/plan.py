"""Products of matrices: sums of products in which each factor has axes that the other has not.

Convolutions are such products too: their windows are a matrix whose elements are read where they lie (implicit GEMM).
Reductions inside a factor, and costly functions in it, are stored first; everything else of it is computed as it is read.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Literal

from kernelwright.propose.author.families.family import Match
from kernelwright.propose.author.ir.expr import (
    Call,
    Const,
    Element,
    Expr,
    Order,
    Reduce,
    Scan,
    filled,
    transform,
    walk,
)
from kernelwright.propose.author.ir.program import HEAVY, Part, Root, Tensor, heavies
from kernelwright.records.graph import Ref
from kernelwright.records.task import Task

TILE, BUSY = 128, 64
"""A side of the largest tile, and tiles that keep most of a device busy."""
LEAST = 8
"""Extent of a product's side that a tile is worth."""
WORTH = 1 << 15
"""Multiplications of one."""
PART = 32
"""Elements of a part of a side that a tile is worth, if they fill three quarters of it."""
WASTED = 1 / 32
"""Share of the tiles' columns that may lie outside, for the others to lie one after another."""
WASTED_ODD = 1 / 4
"""The same where the last length is odd: what divisions leave then has no two neighbours that a compiler can see."""


@dataclass(frozen=True)
class Product:
    """A product [batch, rows, columns] with what is made of it before it is stored."""

    part: Part
    node: Reduce
    """The sum of products."""
    left: Expr
    right: Expr
    batch: tuple[int, ...]
    rows: tuple[int, ...]
    columns: tuple[int, ...]
    depth: tuple[int, ...]
    reductions: tuple[Reduce, ...] = ()
    """What is reduced along all rows, or along all columns, of what becomes of the product: inner ones first.

    Where the part has several roots, the first one is stored as a whole, and the others are made of such reductions.
    """
    stripes: tuple[int, ...] = ()
    """The other axes of the side that is reduced so, where a tile holds a part of it: each tile has a place along them."""

    @property
    def held(self) -> Literal["rows", "columns", ""]:
        """The side that a tile holds as a whole."""
        if not self.reductions:
            return ""
        return "rows" if set(self.reductions[0].over) == set(self.rows) else "columns"

    @property
    def root(self) -> Root:
        """What is stored first: it has both sides where anything has."""
        return self.part.roots[0]

    @property
    def ends(self) -> list[Expr]:
        """All that is stored."""
        return [root.expr for root in self.part.roots]

    @property
    def extents(self) -> tuple[int, int, int, int]:
        """Elements of batch, rows, columns and depth."""
        count = self.part.count
        return count(self.batch + self.stripes), count(self.rows), count(self.columns), count(self.depth)

    @property
    def precise(self) -> bool:
        """Whether a factor has more digits than half precision."""
        return any(t.dtype not in ("float16", "bfloat16") for t in self.factors)

    @property
    def factors(self) -> list[Tensor]:
        """Floating tensors that the factors are read from."""
        read = [self.part.argument(e) for f in (self.left, self.right) for e in walk(f) if isinstance(e, Element)]
        return [t for t in read if t.dtype in ("float32", "float16", "bfloat16")]

    @property
    def beside(self) -> list[Tensor]:
        """Tensors that are read for what becomes of the product."""
        after = [transform(end, lambda e: Const(0.0) if e == self.node else e) for end in self.ends]
        names = {e.name for e in walk(*after) if isinstance(e, Element)}
        return [t for name, t in self.part.tensors.items() if name in names]

    @property
    def number(self) -> str:
        """What the factors are multiplied as."""
        return "float32" if self.precise else self.factors[0].dtype


def factors(part: Part, node: Expr) -> tuple[Expr, Expr] | None:
    """The factors of a product that is worth tiles; None for anything else."""
    match node:
        case Reduce(op="sum", kind="float", arg=Call(op="mul", args=(left, right))):
            over = set(node.over)
            if not over <= left.axes & right.axes:
                return None
            sides = [tuple(f.axes - g.axes) for f, g in ((left, right), (right, left))]
            rows, columns, depth = part.count(sides[0]), part.count(sides[1]), part.count(node.over)
            worth = min(rows, columns, depth) >= LEAST and rows * columns * depth >= WORTH
            return (left, right) if worth else None
    return None


def matched(part: Part, held: int = 0) -> Match | None:
    """The part as one product, or what must be stored for it to be one.

    A tile may hold a whole side of a product, or the part along some axes of it, of `held` elements at most. Then what is
    reduced along these alone, as a softmax over channels is, is made in the product's own kernel. It may be stored beside the
    whole product.
    """
    products = [node for node in (part.nodes if held else part.heavies) if factors(part, node)]
    if not products:
        return None
    root, node = part.roots[0], products[0]
    pair = factors(part, node)
    if pair is None or not isinstance(node, Reduce):
        return None
    if len(part.roots) > 1:
        return Match(_plan(part, root, node, *pair)) if _with_reductions(part, node, pair, held) else None
    store = _first(part, node, pair, held)
    return Match(None, store) if store else Match(_plan(part, root, node, *pair))


def matched_on_gpu(part: Part) -> Match | None:
    """The same where a tile is as long as a side of the largest one."""
    return matched(part, TILE)


def _first(part: Part, node: Reduce, pair: tuple[Expr, Expr], held: int) -> list[Expr]:
    """What must be stored before the product and all that becomes of it are one kernel."""
    (root,) = part.roots
    done = _finished(node, root, lambda over: held_in_tile(part, pair, over, held))
    # A product that is repeated along further axes is stored once, and then repeated.
    if done != root.expr or done.axes != set(root.axes):
        others = [other for other in part.heavies if other is not node]
        return others if others and not any(node in walk(other) for other in others) else [done]
    return [factor for factor in pair if _stored_first(factor)]


def _with_reductions(part: Part, node: Reduce, pair: tuple[Expr, Expr], held: int) -> bool:
    """Whether the first root is what becomes of a product as a whole, and the others what tiles leave of it."""
    first, *others = part.roots
    plain = heavies(first.expr) == [node] and first.expr.axes == node.axes == set(first.axes)
    inside = {n.key for n in walk(node)}
    over = {frozenset(n.over) for n in part.nodes if isinstance(n, Reduce) and n.key not in inside}

    def whole(root: Root) -> bool:
        return _finished(node, root, lambda axes: held_in_tile(part, pair, axes, held)) == root.expr

    reduced = all(whole(root) and set(root.axes) == root.expr.axes < node.axes for root in others)
    return plain and reduced and len(over) == 1 and not any(map(_stored_first, pair))


def held_in_tile(part: Part, pair: tuple[Expr, Expr], over: frozenset[int], held: int) -> bool:
    """Whether one tile holds a product along these axes of a side, and all tiles keep a device busy."""
    left, right = pair
    batch, count = part.count(tuple(left.axes & right.axes)), part.count(tuple(over))
    for one, other in ((left, right), (right, left)):
        side = one.axes - other.axes
        if over and over <= side:
            tiles = batch * part.count(tuple(side - over)) * -(-part.count(tuple(other.axes - one.axes)) // TILE)
            return count <= held and tiles >= BUSY and (over == side or fills(count))
    return False


def fills(count: int) -> bool:
    """Whether so many elements of a side are worth a tile's."""
    return count >= PART and 4 * count >= 3 << (count - 1).bit_length()


def _finished(product: Reduce, root: Root, holds: Callable[[frozenset[int]], bool]) -> Expr:
    """The most that becomes of a product in its own tile, before it is reduced otherwise, or read with axes that it lacks."""
    nodes = walk(root.expr)
    above = {node.key for node in nodes if product in walk(node)}
    readers: dict[str, set[str]] = {}
    for node in nodes:
        for child in node.children:
            readers.setdefault(child.key, set()).add(node.key)

    def closed(node: Expr) -> bool:
        """Whether all that reads the product, or anything between it and the node, is part of the node."""
        part = {n.key for n in walk(node)}
        return all(readers[key] <= part for key in part & above - {node.key})

    def whole(node: Expr) -> bool:
        return node == root.expr and node.axes == set(root.axes)

    made = [n for n in nodes if n.key in above and (n.kind == "float" or whole(n)) and _in_one_tile(n, product, holds)]
    made = [node for node in made if whole(node) or node != root.expr]
    return max(filter(closed, made), key=lambda node: len(walk(node)), default=product)


def _in_one_tile(node: Expr, product: Reduce, holds: Callable[[frozenset[int]], bool]) -> bool:
    """Whether nothing is reduced on the way but along axes that a tile holds, if anything is."""
    inside = {n.key for n in walk(product)}
    heavy = [n for n in walk(node) if isinstance(n, Reduce | Scan | Order) and n.key not in inside]
    if not heavy:
        return node.axes == product.axes
    over = {frozenset(n.over) if isinstance(n, Reduce) and n.kind == "float" else frozenset[int]() for n in heavy}
    return len(over) == 1 and all(map(holds, over)) and node.axes in (product.axes, product.axes - next(iter(over)))


def _plan(part: Part, root: Root, node: Reduce, left: Expr, right: Expr) -> Product:
    if root.axes and root.axes[-1] in left.axes - right.axes:
        left, right = right, left

    # What is reduced in the tile is no axis of what is stored.
    order = (*root.axes, *sorted(node.axes - set(root.axes)))

    def along(axes: frozenset[int]) -> tuple[int, ...]:
        return tuple(a for a in order if a in axes)

    inside = {n.key for n in walk(node)}
    reductions = tuple(n for n in part.nodes if isinstance(n, Reduce) and n.key not in inside)
    sides = (left.axes - right.axes, right.axes - left.axes)
    beside = next((side - set(r.over) for r in reductions for side in sides if set(r.over) < side), frozenset[int]())
    batch = along((left.axes & right.axes) - set(node.over))
    rows, columns = (along(side - beside) for side in sides)
    return Product(part, node, left, right, batch, rows, columns, node.over, reductions, along(beside))


def rounds_factors(task: Task, product: Product) -> bool:
    """Whether a product's factors may be rounded to TF32: the task's flags let PyTorch do so."""
    convolutions = [node for node in task.graph.nodes if "conv" in node.op]
    filters = {weight.ref for node in convolutions if isinstance(weight := node.argument("weight"), Ref)}
    convolves = not filters.isdisjoint(tensor.name for tensor in product.factors)
    return task.numerics.tf32 and task.numerics.allows_tf32(convolution=convolves)


def lined_up(plan: Product, block: int) -> Product:
    """The product with the first axis of its columns as one of the batch, where tiles of the others waste little.

    The columns of a tile are then neighbours in memory, as a compiler can see, and not what divisions leave of a position. So
    it has a warp store whole lines, even where a length is odd.
    """
    first, others = plan.columns[:1], plan.columns[1:]
    extent = plan.part.count(others)
    if not others or plan.held == "columns":
        return plan
    wasted = WASTED_ODD if plan.part.sizes[others[-1]] % 2 else WASTED
    if -(-extent // block) * block > extent * (1 + wasted):
        return plan
    return replace(plan, batch=first + plan.batch, columns=others)


def bare(factor: Expr) -> Expr:
    """A factor without the conditions under which its one element is read: a load gives zeros where they do not hold."""
    found = transform(factor, filled)
    return found if isinstance(found, Element) and found.other == 0.0 else factor


def along_depth(plan: Product, factor: Expr) -> bool:
    """Whether numbers of a factor that follow one another in memory are of one sum."""
    return isinstance(factor, Element) and not factor.index[-1].axes.isdisjoint(plan.depth)


def _stored_first(factor: Expr) -> bool:
    """Whether a factor would be computed too often if it were computed as it is read."""
    return bool(heavies(factor)) or any(isinstance(n, Call) and n.op in HEAVY for n in walk(factor))
