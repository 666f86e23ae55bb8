"""Products of half precision whose factors and result are plain matrices: Hopper's hardware copies blocks of these."""

from dataclasses import dataclass
from math import prod

from kernelwright.propose.author.families.product.plan import Product, bare
from kernelwright.propose.author.plan.expr import Element, Expr, Index
from kernelwright.propose.author.plan.plan import Tensor

HALF_BYTES = 2
"""Of a number of half precision."""
LINE_BYTES = 16
"""What the bytes of a row must be a multiple of."""


@dataclass(frozen=True)
class Matrix:
    """A tensor as the hardware copies blocks of it."""

    tensor: Tensor
    shape: tuple[int, int]
    turned: bool = False
    """Whether it lies with the depth above, where it is a left factor, or beside, where it is a right one."""


def matrices(plan: Product) -> tuple[Matrix, Matrix, Matrix] | None:
    """Left factor, right factor and result; None where one is no such matrix."""
    if plan.precise or plan.batch or plan.stripes or plan.reductions or len(plan.part.roots) > 1:
        return None
    left, right = _factor(plan, plan.left, plan.rows), _factor(plan, plan.right, plan.columns)
    root, shape = plan.root, plan.extents[1:3]
    whole = root.axes == (*plan.rows, *plan.columns) and root.scatter is None and root.element is None
    if left is None or right is None or not whole:
        return None
    # Of a right factor the depth is above as a rule.
    found = left, Matrix(right.tensor, right.shape, not right.turned), Matrix(root.tensor, shape)
    fit = all(m.tensor.dtype == plan.number and m.shape[1] * HALF_BYTES % LINE_BYTES == 0 for m in found)
    return found if fit else None


def _factor(plan: Product, factor: Expr, side: tuple[int, ...]) -> Matrix | None:
    """A factor whose element along a side and the depth lies as a matrix does; `turned`: with the depth first."""
    element, part = bare(factor), plan.part
    if not isinstance(element, Element) or element.inside is not None:
        return None
    tensor, extents = part.argument(element), (part.count(side), part.count(plan.depth))
    if prod(element.sizes) != prod(tensor.shape) or prod(extents) != prod(tensor.shape):
        return None
    for order, shape in (((*side, *plan.depth), extents), ((*plan.depth, *side), extents[::-1])):
        if element.index == tuple(map(Index, order)) and element.sizes == tuple(part.sizes[a] for a in order):
            return Matrix(tensor, shape, order[0] not in side)
    return None
