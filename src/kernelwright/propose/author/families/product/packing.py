"""Factors laid out for the tensor cores before they are multiplied.

A float32 number is nearly the sum of two bfloat16 numbers, and the sum of three. Taking it apart in the product's own loop
costs more than the multiplications do, and what a window slides over lies so that no load is wider than one number. So
each factor's tensor is written once more: in parts, and with the dimension innermost that the product sums over.
"""

from dataclasses import dataclass, replace
from math import prod

from kernelwright.propose.author.families.product.plan import Product
from kernelwright.propose.author.plan.expr import Call, Const, Element, Expr, Index, transform
from kernelwright.propose.author.plan.plan import Tensor

PARTS = {"bf16x3": 2, "bf16x6": 3}
"""Numbers that each float32 number becomes, by how many products are made of them."""
WORDS = ("high", "low", "rest")
WIDE = 16
"""Elements that a dimension must be a multiple of for loads along it to be wide."""


@dataclass(frozen=True)
class Packed:
    """A factor that is read from parts of its tensor."""

    tensor: Tensor
    deep: int
    """Extent of the dimension that goes innermost; 1: all stay as they lie."""
    inner: int
    """Elements behind it."""
    parts: tuple[Tensor, ...]
    factors: tuple[Expr, ...]
    """The factor, read from each part."""

    @property
    def outer(self) -> int:
        """Elements in front of it."""
        return prod(self.tensor.shape) // (self.deep * self.inner)


@dataclass(frozen=True)
class Packing:
    """Both factors, and the order in which the product sums."""

    left: Packed
    right: Packed
    depth: tuple[int, ...]

    @property
    def tensors(self) -> list[Packed]:
        """What must be laid out, each once."""
        return [self.left] if self.left.parts == self.right.parts else [self.left, self.right]

    @property
    def made(self) -> list[Tensor]:
        """All parts of it."""
        return [part for packed in self.tensors for part in packed.parts]


def packing(plan: Product, parts: int) -> Packing | None:
    """How the factors of a product can be laid out in so many parts; None where they cannot, or need not be."""
    elements = _read(plan.left), _read(plan.right)
    if elements[0] is None or elements[1] is None:
        return None
    innermost = _innermost(plan, elements[0], elements[1])
    moves = [_moved(plan, element, innermost) for element in elements if element]
    stays = [move == len(element.index) - 1 for move, element in zip(moves, elements, strict=True) if element]
    if None in moves or (parts == 1 and all(stays)):
        return None
    taken = {t.identifier for t in plan.part.tensors.values()}
    left, right = (
        _packed(plan, factor, element, move, parts, taken)
        for factor, element, move in zip((plan.left, plan.right), elements, moves, strict=True)
        if element is not None and move is not None
    )
    depth = tuple(a for a in plan.depth if a != innermost) + ((innermost,) if innermost is not None else ())
    return Packing(left, right, depth)


def narrow(plan: Product) -> bool:
    """Whether loads of a factor are of single numbers where its tensor lies."""
    elements = (_read(plan.left), _read(plan.right))
    return any(e is not None and _along(plan, e.index[-1], e.sizes[-1]) is None for e in elements)


def _read(factor: Expr) -> Element | None:
    """The one element that a factor is, where conditions hold."""
    match factor:
        case Element(kind="float"):
            return factor
        case Call(op="where", args=(_, some, Const(value=0.0))) | Call(op="float", args=(some,)):
            return _read(some)
    return None


def _innermost(plan: Product, *elements: Element) -> int | None:
    """The longest axis of the depth that loads of all factors could be wide along; None: there is none."""
    along = [{_along(plan, *both) for both in zip(one.index, one.sizes, strict=True)} for one in elements]
    shared = [axis for axis in plan.depth if all(axis in one for one in along)]
    return max(shared, key=lambda axis: plan.part.sizes[axis], default=None)


def _along(plan: Product, index: Expr, extent: int) -> int | None:
    """The axis that a dimension is, from end to end or in stretches, if loads along it can be wide."""
    match index:
        case Index(axis=int(axis)) if plan.part.sizes[axis] == extent:
            wide = extent
        case Call(op="add", args=(Call(op="mul", args=(Index(axis=outer), Const(value=step))), Index(axis=int(axis)))):
            wide = plan.part.sizes[axis]
            if step != wide or plan.part.sizes[outer] * wide != extent:
                return None
        case _:
            return None
    return axis if wide % WIDE == 0 else None


def _moved(plan: Product, element: Element, innermost: int | None) -> int | None:
    """The dimension that goes innermost, which is the last one where that can stay; None where nothing suits."""
    along = [_along(plan, *both) for both in zip(element.index, element.sizes, strict=True)]
    if along[-1] is not None and (along[-1] == innermost or element.index[-1].axes.isdisjoint(plan.depth)):
        return len(along) - 1
    return along.index(innermost) if innermost is not None and innermost in along else None


def _packed(plan: Product, factor: Expr, element: Element, move: int, parts: int, taken: set[str]) -> Packed:
    tensor, stays = plan.part.argument(element), move == len(element.index) - 1
    order = [*(n for n in range(len(element.sizes)) if n != move), move]
    shape, index = tuple(element.sizes[n] for n in order), tuple(element.index[n] for n in order)
    deep, inner = (1, prod(element.sizes)) if stays else (element.sizes[move], prod(element.sizes[move + 1 :]))
    dtype = tensor.dtype if parts == 1 else "bfloat16"
    made = tuple(
        Tensor(f"{tensor.name} {word} {move}", _fresh(f"{tensor.identifier}_{word}", taken), shape, dtype, ())
        for word in WORDS[:parts]
    )
    factors = tuple(_reading(factor, element, replace(element, name=t.name, sizes=shape, index=index)) for t in made)
    return Packed(tensor, deep, inner, made, factors)


def _reading(factor: Expr, old: Element, new: Element) -> Expr:
    return transform(factor, lambda node: new if node == old else node)


def _fresh(identifier: str, taken: set[str]) -> str:
    while identifier in taken:
        identifier += "_"
    return identifier
