"""Input distributions: what a kernel must get right besides inputs as they are drawn.

The domains say which distributions a task admits. They follow KernelBench-Verified (arXiv 2607.16241: times 3, times
0.01, negated) with a huge element, integers and unaligned pointers added, and with what inputs mean (`meaning.py`).
"""

import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from math import inf, nan

import torch

from kernelwright.evaluate import float8
from kernelwright.evaluate.far_above import far_above
from kernelwright.evaluate.verify.meaning import Across, Given, OfEveryKind, Transform, far_from_zero, in_order
from kernelwright.records.tensor import Domain, TensorSpec

PIECE = 1 << 26
"""Elements that are drawn at a time."""

SIGNED = 0.25
"""Share of a parameter's elements that get another sign where all had one: a factor that is never negative can be taken out of
a maximum."""
LONG = 1 << 14
"""Elements of a reduction in which a single one, of like sign and size as all others, no longer shows."""

SCALABLE = (Domain.REAL, Domain.NON_NEGATIVE)

EXACT_OPS = frozenset(
    f"aten.{name}"
    for name in (
        "add.Tensor", "sub.Tensor", "mul.Tensor", "neg.default", "abs.default", "relu.default", "sum.default",
        "sum.dim_IntList", "maximum.default", "minimum.default", "max.default", "min.default", "amax.default",
        "amin.default", "clamp.default", "where.self", "clone.default", "view.default", "transpose.int",
        "permute.default", "contiguous.default", "reshape.default", "flip.default",
    )
)  # fmt: skip
"""Operations whose results on small integers are exact in any order, so that equality can be asked for."""

BYTE_TOPS = {"int8": 127, "uint8": 255}
"""The largest numbers of eight bits."""

ALIGNED = ("scaled_dot_product",)
"""Operations whose own kernels in PyTorch read sixteen bytes at a time wherever a pointer is: eager itself faults there."""


@dataclass(frozen=True)
class InputDistribution:
    """One way to change inputs. `domains` lists the inputs that it touches; the rest stay as drawn."""

    name: str
    domains: tuple[Domain, ...]
    change: Transform
    shift: int = 0
    """Elements by which every pointer is moved off its alignment."""
    of_meaning: bool = False
    """Whether it follows from what inputs mean; integers and masks have their part in it too."""
    spreads: float = 0.0
    """Times their spread that values lie away from zero; 0 where they are not moved."""
    weaker: "InputDistribution | None" = None
    """What is tried in its place where the reference does not bear it."""
    only: tuple[int, ...] | None = None
    """Inputs that it changes, by their numbers, where the reference does not bear it of all; None: all."""

    @property
    def replaces(self) -> bool:
        """Whether elements get values that were not drawn: one far above all others, or few different ones."""
        return self.change in (_huge, _ends, _integers) or self.of_meaning

    @property
    def orders(self) -> bool:
        """Whether rows are put in order, so that sums go far away before they come back."""
        return self.change is in_order

    @property
    def moves_zeros(self) -> bool:
        """Whether what is zero need not stay so."""
        return self.replaces or self.change is _offset


def _scaled(factor: float) -> Transform:
    def scale(x: torch.Tensor, given: Given) -> None:
        if factor != 1.0:
            x.mul_(factor)

    return scale


def _small(x: torch.Tensor, given: Given) -> None:
    """One is negative where the domain has signs: what looks at some and takes the rest for like them meets no sign of it."""
    x.mul_(0.01)
    if given.spec.domain is Domain.REAL:
        where = int(given.below(x.numel(), (1,), x.device))
        low, high = x.aminmax()
        x.view(-1)[where] = torch.minimum(low, -high)


def _huge(x: torch.Tensor, given: Given) -> None:
    x.view(-1)[int(given.below(x.numel(), (1,), x.device))] = far_above(x)


def _ends(x: torch.Tensor, given: Given) -> None:
    """Each input has its own values, so that they cancel in no difference of two.

    The first one is smaller: what one accumulator takes after it must not vanish beside it, and it must not hide the last
    one from a maximum.
    """
    flat, largest = x.view(-1), far_above(x) / (1 + given.number)
    flat[0] = largest / 10
    flat[-1] = largest


def _integers(x: torch.Tensor, given: Given) -> None:
    low = 0 if given.spec.domain is Domain.NON_NEGATIVE else -4
    for piece in x.view(-1).split(PIECE):
        piece.copy_(torch.randint(low, 5, piece.shape, generator=given.generator, device=x.device, dtype=torch.int8))


def _alike(x: torch.Tensor, given: Given) -> None:
    """All positions are zero, and what they choose from is larger there."""
    if not given.spec.floating:
        x.zero_()
        return
    for axis in range(x.dim()):
        x.select(axis, 0).mul_(3.0)


def _every_byte(x: torch.Tensor, given: Given) -> None:
    """Numbers of eight bits are all that their type has, of the signs that were drawn; others stay."""
    low = torch.iinfo(x.dtype).min if bool((x < 0).any()) else 0
    drawn = torch.randint(low, torch.iinfo(x.dtype).max + 1, x.shape, generator=given.generator, device=x.device)
    x.copy_(drawn)


def _offset(x: torch.Tensor, given: Given) -> None:
    """By an eighth of its range, so that it stays of its own size, and needs no second copy of it."""
    low, high = x.aminmax()
    x.add_((high - low) / 8)


AS_GIVEN = InputDistribution("as given", (), _scaled(1.0))
HUGE = InputDistribution("one huge element", SCALABLE, _huge)
SCALES = {"times 3": 3.0, "times 0.01": 0.01}
"""At which scales inputs are checked, and timed by lot."""
REPLACED = InputDistribution("some elements replaced", (), _huge)
"""Of inputs in which elements were put far above the others already."""
UNALIGNED = InputDistribution("unaligned pointers", (), _scaled(1.0), shift=1)
ALIKE = InputDistribution("positions alike", (*SCALABLE, Domain.INDEX), _alike)
"""For one number of many choices: the mean of a million of them hardly tells which were made, as long as any are as good."""
COMMON = InputDistribution("a common offset", (Domain.REAL,), _offset)
"""For one number of several inputs: the mean of what independent rows have in common is next to nothing, at any size."""
BYTES = InputDistribution("every byte", (Domain.INDEX,), _every_byte, of_meaning=True)
"""For whole numbers whose type is as good as a declaration; where they name something, the reference does not bear it."""
ENDS = InputDistribution("huge ends", SCALABLE, _ends)
"""For long reductions: a loop that stops short by a few elements leaves out too little to tell, unless they are huge."""
DISTRIBUTIONS = (
    InputDistribution("times 3", SCALABLE, _scaled(3.0)),
    InputDistribution("times 0.01", SCALABLE, _small),
    InputDistribution("negated", (Domain.REAL,), _scaled(-1.0)),
    HUGE,
    InputDistribution("small integers", SCALABLE, _integers),
)
SPREADS = (256.0, 64.0, 16.0, 2.0)
"""By how many times their spread inputs are moved away from zero: the most that the reference bears."""


def _far(name: str, together: bool) -> InputDistribution:
    far: InputDistribution | None = None
    for spreads in reversed(SPREADS):
        moved = far_from_zero(spreads, together)
        far = InputDistribution(name, SCALABLE, moved, of_meaning=True, spreads=spreads, weaker=far)
    assert far is not None
    return far


def _of_meaning() -> tuple[InputDistribution, ...]:
    mild, kinds = OfEveryKind(weaker=True), "rows of every kind"
    every = InputDistribution(kinds, tuple(Domain), mild, of_meaning=True)
    ordered = InputDistribution("in order", tuple(Domain), in_order, of_meaning=True)
    far = _far("far from zero", together=False)
    return ordered, far, InputDistribution(kinds, tuple(Domain), OfEveryKind(), of_meaning=True, weaker=every)


def _across(across: Across) -> InputDistribution:
    name, domains = f"{across} of every kind", (Domain.REAL, Domain.NON_NEGATIVE, Domain.MASK)
    mild = InputDistribution(name, domains, OfEveryKind(weaker=True, across=across), of_meaning=True)
    return InputDistribution(name, domains, OfEveryKind(across=across), of_meaning=True, weaker=mild)


OF_MEANING = _of_meaning()
COLUMNS, SLICES = _across("columns"), _across("slices")
"""The same for what lies across rows: sums down the columns of a matrix, over a channel or over its places."""


def _not_numbers(*values: float) -> Transform:
    def change(x: torch.Tensor, given: Given) -> None:
        kind = given.below(SPARSE * len(values), (x.numel(),), x.device).view(x.shape)
        for number, value in enumerate(values):
            x.masked_fill_(kind == number, value)

    return change


def _with_others(values: tuple[float, ...], *more: tuple[float, ...]) -> InputDistribution:
    weaker = _with_others(*more) if more else None
    return InputDistribution("no numbers", SCALABLE, _not_numbers(*values), of_meaning=True, weaker=weaker)


ASKS, SPARSE = re.compile(r"nan|is(pos|neg)?inf|isfinite"), 64
"""Operations that ask for what is no number, or give it a value, and of how many elements one is each."""
NOT_NUMBERS = _with_others((nan, inf, -inf), (nan,), (inf, -inf))
TOGETHER = _far("far from zero, together", together=True)
"""For several inputs: a difference of squares and products loses digits where all lie far on one side."""


def admitted(
    inputs: Sequence[TensorSpec],
    operations: Sequence[str] = (),
    outputs: Sequence[TensorSpec] = (),
    longest: int = 1,
    traps: bool = False,
) -> list[InputDistribution]:
    """The input distributions that change at least one of these inputs, and the unaligned one where PyTorch bears it.

    `longest`: how many elements the longest reduction adds up. `traps`: an operation ends the device's process outside its
    domain.
    """
    found = [
        r
        for r in (*DISTRIBUTIONS, *([ENDS] if longest >= LONG else []), *OF_MEANING)
        if (not traps or r.change is _small) and any(_touches(r, t) for t in inputs)
    ]
    if not traps:
        found += [COLUMNS] * any(_touches(COLUMNS, t) and (len(t.shape) > 1 or not t.floating) for t in inputs)
        found += [SLICES] * any(_touches(SLICES, t) and len(t.shape) > 2 and t.floating for t in inputs)
        found += [NOT_NUMBERS] * (any(map(ASKS.search, operations)) and any(t.scalable for t in inputs))
    if _several(inputs) and not traps:
        found.append(TOGETHER)
    if _one_of_choices(inputs, outputs):
        found.append(ALIKE)
    if _one_of_several(inputs, outputs) and not traps:
        found.append(COMMON)
    return found if any(word in op for op in operations for word in ALIGNED) else [*found, UNALIGNED]


def of_bytes(inputs: Sequence[TensorSpec], stated: Collection[int] = ()) -> list[InputDistribution]:
    """The input distribution of whole numbers of eight bits, if there are such and no others are stated."""
    free = tuple(i for i, t in enumerate(inputs) if _narrow(t) and i not in stated)
    return [replace(BYTES, only=free)] if free else []


def touched(distribution: InputDistribution, inputs: Sequence[TensorSpec]) -> tuple[int, ...]:
    """Inputs that it changes, by their numbers."""
    alike = distribution.change is _alike
    return tuple(
        i
        for i, t in enumerate(inputs)
        if (distribution.only is None or i in distribution.only)
        and (_touches(distribution, t) or (alike and t.domain in distribution.domains))
    )


def _touches(distribution: InputDistribution, spec: TensorSpec) -> bool:
    """Whether it changes such an input: a number alone has no order and no rows."""
    whole = distribution.of_meaning and spec.numel > 1
    return spec.domain in distribution.domains and (whole or (spec.floating and not distribution.of_meaning))


def _narrow(spec: TensorSpec) -> bool:
    """Whether it holds whole numbers of eight bits, more than truths and fewer than the type has."""
    most = BYTE_TOPS.get(spec.dtype, 0)
    return spec.domain is Domain.INDEX and spec.bound is not None and 2 < spec.bound <= most


def _several(inputs: Sequence[TensorSpec]) -> bool:
    """Whether "far from zero" moves inputs apart."""
    moved = [t for t in inputs if t.floating and t.numel > 1 and t.domain in SCALABLE]
    return len(moved) > 1 and any(t.domain is Domain.REAL for t in moved)


def _one_of_choices(inputs: Sequence[TensorSpec], outputs: Sequence[TensorSpec]) -> bool:
    """Whether single numbers are asked for, of numbers that positions choose, some of them more than once."""
    chosen = any(t.domain is Domain.INDEX and t.bound is not None and t.bound < t.numel for t in inputs)
    return chosen and any(t.scalable for t in inputs) and all(t.numel == 1 for t in outputs) and bool(outputs)


def _one_of_several(inputs: Sequence[TensorSpec], outputs: Sequence[TensorSpec]) -> bool:
    """Whether single numbers are asked for, of several inputs of one shape."""
    shapes = [t.shape for t in inputs if t.floating and t.domain in COMMON.domains]
    return all(t.numel == 1 for t in outputs) and bool(outputs) and len(shapes) > len(set(shapes))


def apply(
    distribution: InputDistribution, x: torch.Tensor, given: Given, into: torch.Tensor | None = None
) -> torch.Tensor:
    """One input under an input distribution, written to `into`."""
    changed = torch.empty_like(x, memory_format=torch.contiguous_format) if into is None else into
    changed.copy_(x)
    alike = distribution.change is _alike and given.spec.domain in ALIKE.domains
    spared = distribution.only is not None and given.number not in distribution.only
    if x.numel() and not spared and (alike or _touches(distribution, given.spec)):
        float8.change(changed, lambda values: _change_finite(distribution.change, values, given))
    return changed


def _change_finite(change: Transform, values: torch.Tensor, given: Given) -> None:
    """What is infinite stays so where it is changed and not replaced: a mask of minus infinity has one sign."""
    replaced = change in (in_order, _huge, _ends, _integers)
    ends = values.aminmax() if values.is_floating_point() and not replaced else ()
    places = [(values == end, float(end)) for end in ends if end.isinf()]
    for place, _ in places:
        values.masked_fill_(place, 0)
    change(values, given)
    for place, end in places:
        values.masked_fill_(place, end)


def keeps(distribution: InputDistribution, how: str) -> bool:
    """Whether an input distribution may change an input, whose contents are made as `how` says (`timing/structure.py`).

    A matrix with zeros in their places may be scaled, and no element of it replaced. What has another structure is changed
    within it (`structure.restored`); integers that never change are in one case, by rows.
    """
    if how == "kept":
        return isinstance(distribution.change, OfEveryKind)
    return how != "aligned" or not distribution.moves_zeros


def random_parameter(x: torch.Tensor, spec: TensorSpec, generator: torch.Generator) -> torch.Tensor:
    """A parameter away from its initial value, where a scale of one or a bias of zero could be left out unnoticed.

    It stays in its domain; what is not finite (a mask of minus infinity) stays as it is.
    """
    if not spec.floating or not x.numel() or spec.domain in (Domain.LABEL, Domain.MASK):
        return x
    given = x.float()
    finite = given.isfinite()
    changed = given * (torch.rand(x.shape, generator=generator, dtype=torch.float32, device=x.device) + 0.5)
    if spec.domain is Domain.PROBABILITY and x.shape[-1] > 1:
        return float8.stored(changed / changed.sum(-1, keepdim=True), x.dtype)
    spread = max(float(given[finite].std(correction=0)) if finite.any() else 0.0, 0.2)
    noise = spread * 0.5 * torch.randn(x.shape, generator=generator, dtype=torch.float32, device=x.device)
    if spec.domain is not Domain.REAL:
        noise = noise.abs()
    elif bool((given[finite] >= 0).all()):
        lot = torch.rand(x.shape, generator=generator, dtype=torch.float32, device=x.device)
        changed = torch.where(lot < SIGNED, -changed, changed)
    return float8.stored(torch.where(finite, changed + noise, given), x.dtype)
