"""Factors laid out for the tensor cores before they are multiplied.

A float32 number is nearly the sum of two bfloat16 numbers, and the sum of three. Taking it apart in the product's own loop
costs more than the multiplications do, and what a window slides over lies so that no load is wider than one number. So
each factor's tensor is written once more: in parts, and with the dimension innermost that the product sums over, with
zeros behind it where its extent would keep loads narrow.

A float16 number has as many digits as TF32 keeps, in half of the bytes, and two have as many as two TF32 numbers; but few
exponents. So a tensor is multiplied by the power of two that brings its largest number near float16's largest: what is 2**28
times smaller still has all digits, and the product is multiplied back. (Ootomo and Yokota 2022, whose three products these
are, scale the second part alone, by 2**11.)
"""

from dataclasses import dataclass, replace
from math import gcd, prod
from typing import NamedTuple

from kernelwright.propose.author.families.product.plan import Product
from kernelwright.propose.author.ir.expr import Call, Const, Element, Expr, Index, transform
from kernelwright.propose.author.ir.program import Tensor
from kernelwright.records.tensor import ITEM_BYTES, DType

WORDS = ("high", "low", "rest")
WIDE_BYTES = 16
"""Of one load."""
TRIED_FROM = 1 << 24
"""Elements of a tensor that the cache does not hold until it is read again."""
LEAST_PADDED = 3
"""Extent of a dimension that zeros are put behind."""


class Form(NamedTuple):
    """What each number of a factor becomes."""

    dtype: DType | None
    """Of its parts; None: the tensor's own."""
    parts: int = 1
    sliced: bool = False
    """Whether each slice of the depth is summed by itself, so that its sum is rounded and not cut off."""

    @property
    def scaled(self) -> bool:
        """Whether it is multiplied by a power of two first."""
        return self.dtype == "float16"

    @property
    def item_bytes(self) -> int:
        """Of all parts of a number."""
        return self.parts * ITEM_BYTES[self.dtype or "float16"]


AS_IT_IS = Form(None)
FORMS = {
    "tf32": Form("float32"), "bf16x3": Form("bfloat16", 2), "bf16x6": Form("bfloat16", 3, sliced=True),
    "fp16": Form("float16"), "fp16x3": Form("float16", 2, sliced=True),
}  # fmt: skip
"""By how products of float32 are made of them."""


@dataclass(frozen=True)
class Packed:
    """A factor that is read from parts of its tensor."""

    tensor: Tensor
    moved: int
    """The dimension that goes innermost."""
    deep: int
    """Extent of the dimension that goes innermost; 1: all stay as they lie."""
    inner: int
    """Elements behind it."""
    pad: int
    """Zeros that each row of the dimension gets at its end."""
    parts: tuple[Tensor, ...]
    factors: tuple[Expr, ...]
    """The factor, read from each part."""
    tried: bool = False
    """Whether it is laid out as it is first, and scaled only if its largest number proves unsuitable: one reading less."""

    @property
    def direct(self) -> bool:
        """Whether it is read where it lies."""
        return self.parts == (self.tensor,)

    @property
    def outer(self) -> int:
        """Elements in front of it."""
        return prod(self.tensor.shape) // (self.deep * self.inner)


@dataclass(frozen=True)
class Packing:
    """Both factors, and the order in which the product sums."""

    form: Form
    left: Packed
    right: Packed
    depth: tuple[int, ...]
    extent: int
    """Elements of the innermost dimension, before zeros are put behind it."""

    @property
    def pad(self) -> int:
        """Zeros behind the innermost dimension."""
        return self.left.pad

    @property
    def tensors(self) -> list[Packed]:
        """What must be laid out, each once."""
        both = [self.left] if self.left.parts == self.right.parts else [self.left, self.right]
        return [packed for packed in both if not packed.direct]

    @property
    def made(self) -> list[Tensor]:
        """All that the product reads as its factors."""
        return list(dict.fromkeys(part for packed in (self.left, self.right) for part in packed.parts))


def packing(plan: Product, form: Form) -> Packing | None:
    """How the factors of a product can be laid out in this form; None where they cannot, or need not be."""
    elements = _read(plan.left), _read(plan.right)
    if elements[0] is None or elements[1] is None:
        return None
    dtypes = {plan.part.argument(element).dtype for element in elements if element}
    if len(dtypes) > 1 or (form.scaled and dtypes != {"float32"}):
        return None
    look = _Look(plan, WIDE_BYTES // (4 if form.dtype == "float32" else 2))
    innermost = look.innermost(elements[0], elements[1])
    extent = plan.part.sizes[innermost] if innermost is not None else 1
    pad = -extent % look.wide if innermost is not None else 0
    moves = [look.moved(element, innermost, padded=pad > 0) for element in elements if element]
    stays = [move == len(element.index) - 1 for move, element in zip(moves, elements, strict=True) if element]
    if None in moves or (not plan.precise and all(stays)):
        return None
    taken = {t.identifier for t in plan.part.tensors.values()}
    left, right = (
        _packed(plan, factor, element, move, (form, pad), taken)
        for factor, element, move in zip((plan.left, plan.right), elements, moves, strict=True)
        if element is not None and move is not None
    )
    depth = tuple(a for a in plan.depth if a != innermost) + ((innermost,) if innermost is not None else ())
    return Packing(form, left, right, depth, extent)


def narrow(plan: Product) -> bool:
    """Whether loads of a factor are of single numbers where its tensor lies."""
    look = _Look(plan, WIDE_BYTES // (4 if plan.precise else 2))
    elements = (_read(plan.left), _read(plan.right))
    return any(e is not None and look.along(e.index[-1], e.sizes[-1]) is None for e in elements)


def _read(factor: Expr) -> Element | None:
    """The one element that a factor is, where conditions hold."""
    match factor:
        case Element(kind="float"):
            return factor
        case Call(op="where", args=(_, some, Const(value=0.0))) | Call(op="float", args=(some,)):
            return _read(some)
    return None


@dataclass(frozen=True)
class _Look:
    """Along which axes of a product loads are wide, or can be made so."""

    plan: Product
    wide: int
    """Numbers of one wide load."""

    def innermost(self, *elements: Element) -> int | None:
        """The longest axis of the depth that loads of all factors could be wide along; None: there is none.

        If there is none as they lie, one along which they are with zeros behind it.
        """
        for padded in (False, True):
            along = [{self.along(*both, padded) for both in zip(one.index, one.sizes, strict=True)} for one in elements]
            shared = [axis for axis in self.plan.depth if all(axis in one for one in along)]
            if shared:
                return max(shared, key=lambda axis: self.plan.part.sizes[axis])
        return None

    def along(self, index: Expr, extent: int, padded: bool = False) -> int | None:
        """The axis that a dimension is, from end to end or in stretches, if loads along it can be wide."""
        sizes = self.plan.part.sizes
        match index:
            case Index(axis=int(axis)) if sizes[axis] == extent:
                if padded and axis in self.plan.depth and extent >= LEAST_PADDED:
                    return axis
                length = extent
            case Call(
                op="add", args=(Call(op="mul", args=(Index(axis=outer), Const(value=step))), Index(axis=int(axis)))
            ):
                length = sizes[axis]
                if step != length or sizes[outer] != -(-extent // length):
                    return None
                length = gcd(length, extent)  # the last stretch may be shorter
            case _:
                return None
        return axis if length % self.wide == 0 else None

    def moved(self, element: Element, innermost: int | None, padded: bool) -> int | None:
        """The dimension that goes innermost, which is the last one where that can stay; None where nothing suits."""
        along = [self.along(*both, padded) for both in zip(element.index, element.sizes, strict=True)]
        free = element.index[-1].axes.isdisjoint(self.plan.depth)
        if not padded and along[-1] is not None and (along[-1] == innermost or free):
            return len(along) - 1
        return along.index(innermost) if innermost is not None and innermost in along else None


def _packed(plan: Product, factor: Expr, element: Element, move: int, how: tuple[Form, int], taken: set[str]) -> Packed:
    """A factor in a form, with so many zeros behind the dimension that goes innermost."""
    (form, pad), tensor, stays = how, plan.part.argument(element), move == len(element.index) - 1
    if stays and not pad and (form == AS_IT_IS or (form == FORMS["tf32"] and tensor.rounded)):
        return Packed(tensor, move, 1, prod(element.sizes), 0, (tensor,), (factor,))
    order = [*(n for n in range(len(element.sizes)) if n != move), move]
    shape, index = tuple(element.sizes[n] for n in order), tuple(element.index[n] for n in order)
    shape = (*shape[:-1], shape[-1] + pad)
    flat = stays and not pad
    deep, inner = (1, prod(element.sizes)) if flat else (element.sizes[move], prod(element.sizes[move + 1 :]))
    dtype = form.dtype or tensor.dtype
    made = tuple(
        Tensor(f"{tensor.name} {word} {move}", fresh(f"{tensor.identifier}_{word}", taken), shape, dtype, ())
        for word in WORDS[: form.parts]
    )
    factors = tuple(_reading(factor, element, replace(element, name=t.name, sizes=shape, index=index)) for t in made)
    tried = form == FORMS["fp16"] and prod(tensor.shape) >= TRIED_FROM
    return Packed(tensor, move, deep, inner, pad, made, factors, tried)


def _reading(factor: Expr, old: Element, new: Element) -> Expr:
    return transform(factor, lambda node: new if node == old else node)


def fresh(identifier: str, taken: set[str]) -> str:
    """The identifier, or one like it that is not taken."""
    while identifier in taken:
        identifier += "_"
    return identifier
