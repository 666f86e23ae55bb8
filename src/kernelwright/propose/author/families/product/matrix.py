"""Factors and result of a product as matrices of which the hardware copies blocks."""

from dataclasses import dataclass, replace
from math import prod

from kernelwright.propose.author.families.product.packing import Packing
from kernelwright.propose.author.families.product.plan import Product, bare
from kernelwright.propose.author.ir.expr import Element, Expr, Index
from kernelwright.propose.author.ir.positions import plus, times
from kernelwright.propose.author.ir.program import Tensor
from kernelwright.records.tensor import ITEM_BYTES

LINE_BYTES = 16
"""What the bytes of a row must be a multiple of."""


@dataclass(frozen=True)
class Matrix:
    """A tensor as the hardware copies blocks of it."""

    tensor: Tensor
    shape: tuple[int, ...]
    """Rows and columns, behind the batch if there is one."""
    turned: bool = False
    """Whether it lies with the depth above, where it is a left factor, or beside, where it is a right one."""
    stretch: int = 0
    """Of a depth that is cut, each batch a piece of it: the numbers of a piece. Zero: each batch has rows of its own."""

    @property
    def fit(self) -> bool:
        """Whether each of its rows begins where the hardware can copy from."""
        return self.shape[-1] * ITEM_BYTES[self.tensor.dtype] % LINE_BYTES == 0


@dataclass(frozen=True)
class Matrices:
    """What a product reads and writes."""

    left: Matrix
    right: Matrix
    out: Matrix | None
    """None where tiles of the result are stored by pointers."""
    packing: Packing | None = None
    """How the factors are laid out first."""


def matrices(plan: Product, packing: Packing | None = None) -> Matrices | None:
    """What a product reads and writes, where its factors, or what they are laid out as, are matrices of half precision."""
    if (plan.precise and packing is None) or plan.stripes or plan.reductions or len(plan.part.roots) > 1:
        return None
    if packing and (packing.form.parts > 1 or packing.form.dtype == "float32" or len(packing.depth) > 1):
        return None
    pair = (packing.left.factors[0], packing.right.factors[0]) if packing else (plan.left, plan.right)
    left, right = (_factor(plan, f, s, packing) for f, s in zip(pair, (plan.rows, plan.columns), strict=True))
    if left is None or right is None or left.tensor.dtype != right.tensor.dtype:
        return None
    # Of a right factor the depth is above as a rule.
    return Matrices(left, replace(right, turned=not right.turned), _result(plan), packing)


def _result(plan: Product) -> Matrix | None:
    root = plan.root
    if root.axes != (*plan.batch, *plan.rows, *plan.columns) or root.scatter is not None or root.element is not None:
        return None
    found = Matrix(root.tensor, plan.extents[not plan.batch : 3])
    return found if found.fit else None


def _factor(plan: Product, factor: Expr, side: tuple[int, ...], packing: Packing | None) -> Matrix | None:
    """A factor whose element along a side and the depth lies as a matrix does; `turned`: with the depth first."""
    element, part = bare(factor), plan.part
    if not isinstance(element, Element) or element.inside is not None:
        return None
    made = {t.name: t for t in packing.made} if packing else {}
    tensor = made.get(element.name) or part.argument(element)
    padded = packing.pad if packing else 0
    sizes = part.sizes | {packing.depth[0]: packing.extent + padded} if packing else part.sizes
    if found := _cut(plan, element, side, tensor):
        return found
    for order in ((side, plan.depth), (plan.depth, side)):
        axes = (*plan.batch, *order[0], *order[1])
        lies = element.index == tuple(map(Index, axes)) and element.sizes == tuple(sizes[a] for a in axes)
        if lies and prod(element.sizes) == prod(tensor.shape):
            shape = tuple(prod(sizes[a] for a in group) for group in (plan.batch, *order))
            found = Matrix(tensor, shape[not plan.batch :], order[0] == plan.depth)
            return found if found.fit else None
    return None


def _cut(plan: Product, element: Element, side: tuple[int, ...], tensor: Tensor) -> Matrix | None:
    """A factor of a product whose depth is cut in pieces, which are its batch."""
    if len(plan.batch) != 1 or len(plan.depth) != 1:
        return None
    length = plan.part.sizes[plan.depth[0]]
    along = plus(times(Index(plan.batch[0]), length), Index(plan.depth[0]))
    rows = tuple(map(Index, side))
    sizes, whole = tuple(plan.part.sizes[a] for a in side), plan.part.sizes[plan.batch[0]] * length
    for turned, index, shape in ((False, (*rows, along), (*sizes, whole)), (True, (along, *rows), (whole, *sizes))):
        if element.index == index and element.sizes == shape == tensor.shape:
            flat = (whole, prod(sizes)) if turned else (prod(sizes), whole)
            found = Matrix(tensor, flat, turned, length)
            return found if found.fit else None
    return None
