"""Results that are no real numbers: equal bits, integers up to a step of rounding, and those of which several are right.

An integer that comes from floating arithmetic (a quantised value, a comparison with a threshold) is settled by rounding
where it lies on an edge. Demanding equality there would refuse the eager reference itself; so a few elements, as many as
rounding moves, may be off by one step, and no element by two.

A float of eight bits is stepped as well: rounding decides which of its 256 values it is.

Positions (argmax, topk, sort) are judged by what they pick: gathered from the fp64 values that they point into, it must
be what the reference's own positions pick, within tolerance. Values in no promised order are compared sorted.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import torch

from kernelwright.evaluate import float8
from kernelwright.evaluate.verify import pattern
from kernelwright.evaluate.verify.compare import Expected, Wrong, judge, not_finite, scale_of
from kernelwright.records.comparator import Ties
from kernelwright.records.graph import UNTRACED, OpGraph, OpNode
from kernelwright.records.tensor import TensorSpec

Picked = Callable[[], torch.Tensor]
FREE, FREE_OF = 2, 256
"""Elements on an edge that an output may have in any case, one of so many at most: half of four would be a gift."""
MOST_OF_RARER = 0.25
"""Of the rarer of True and False: as many may be on an edge, or a few times as many as eager's own."""
SELECTING = frozenset(
    (
        "clone", "view", "reshape", "permute", "transpose", "contiguous", "flip", "expand", "slice", "select", "squeeze",
        "unsqueeze", "flatten", "cat", "stack", "getitem", "index", "gather", "where", "neg", "abs", "relu", "clamp",
        "maximum", "minimum", "max", "min", "amax", "amin", "sort", "topk", "masked_fill", "alias", "detach", "t", "roll",
    )
)  # fmt: skip
"""Operations that only choose or move values: nothing is rounded in them."""


@dataclass(frozen=True)
class Identical:
    """The eager reference's bits."""

    value: torch.Tensor
    reference_error: float = 0.0
    allowed: float = 0.0
    draws: int = 1

    def judge(self, got: Sequence[torch.Tensor]) -> tuple[float, Wrong | None]:
        """One if any bit differs: how many elements do, and the first of them."""
        mine, wanted = got[0].contiguous(), self.value.contiguous()
        if mine.dtype.is_floating_point and (wrong := not_finite(mine)):
            return float("inf"), wrong
        differs = _bits(mine).ne(_bits(wanted)).any(dim=1)
        if not bool(differs.any()):
            return 0.0, None
        off = pattern.collected([differs])
        first = int(off.indices[0])
        evidence = (
            f"{off.count} of {mine.numel()} elements are not the reference's bits{pattern.where(off, mine.shape)}; first at "
            f"{pattern.at(first, mine.shape)}: expected {wanted.flatten()[first].item()!r}, "
            f"got {mine.flatten()[first].item()!r}{pattern.values(off, mine, wanted, first)}"
        )
        return 1.0, Wrong("value", evidence, 1.0)


@dataclass(frozen=True)
class Stepped:
    """What rounding decides: integers, booleans, floats of eight bits. `allowed` is the share that may be off by one step."""

    value: torch.Tensor
    reference_error: float
    allowed: float
    draws: int = 1
    k: float = 4.0
    """How many times as many as eager's a candidate's may be."""

    def judge(self, got: Sequence[torch.Tensor]) -> tuple[float, Wrong | None]:
        """The share of elements that are off, infinite where one is off by more than a step."""
        mine, wanted = got[0].flatten(), self.value.flatten()
        if not mine.numel():
            return 0.0, None
        if mine.dtype in float8.FLOAT8 and (wrong := not_finite(mine)):
            return float("inf"), wrong
        told, meant = mine, float8.stored(wanted, mine.dtype)
        mine, wanted = float8.steps(mine), float8.steps(meant)
        differs = mine != wanted
        count = int(differs.sum())
        far = differs & ((mine.double() - wanted.double()).abs() > 1)
        share, free = count / mine.numel(), min(FREE, mine.numel() // FREE_OF)
        if not bool(far.any()) and count <= free + min(self.allowed * mine.numel(), self._rarer(wanted)):
            # What is free of charge counts as nothing, so that error and allowance stay comparable.
            return min(share, self.allowed), None
        where = int((far if bool(far.any()) else differs).to(torch.uint8).argmax())
        shape, off = got[0].shape, pattern.collected([differs])
        evidence = (
            f"{count} of {mine.numel()} elements are off{pattern.where(off, shape)}, {int(far.sum())} of them by more than "
            f"one step; at {pattern.at(where, shape)}: expected {meant[where].item()}, got {told[where].item()} "
            f"({free} and a share of {self.allowed:.3g} may be off by one step, where rounding decides)"
        )
        return float("inf") if bool(far.any()) else share, Wrong("value", evidence, share)

    def _rarer(self, wanted: torch.Tensor) -> float:
        """Elements that may differ for the sake of the rarer of True and False; any number of integers may."""
        if wanted.dtype != torch.bool:
            return float("inf")
        true = int(wanted.sum())
        rarer = float(min(true, wanted.numel() - true))
        eagers: float = self.k * self.reference_error * wanted.numel()
        return max(MOST_OF_RARER * rarer, eagers)


def share_off(got: torch.Tensor, reference: torch.Tensor) -> float:
    """Share of elements that differ."""
    if not got.numel():
        return 0.0
    return float((float8.steps(got) != float8.steps(float8.stored(reference, got.dtype))).double().mean())


def rounded(graph: OpGraph, output: str, specs: Sequence[TensorSpec]) -> bool:
    """Whether floating arithmetic that rounds lies behind a node of the graph."""
    floats = {s.name: s.floating for s in specs} | {r.name: r.floating for n in graph.nodes for r in n.result}
    return any(_rounds(node, floats) for node in graph.behind(output))


def _rounds(node: OpNode, floats: dict[str, bool]) -> bool:
    name = node.op.removeprefix("aten.").split(".")[0]
    return node.op == UNTRACED or (name not in SELECTING and any(floats.get(r.name, r.floating) for r in node.result))


def _bits(values: torch.Tensor) -> torch.Tensor:
    return values.reshape(-1).view(torch.uint8).view(-1, values.element_size())


@dataclass(frozen=True)
class Tied:
    """Positions into `picked`, which gives the fp64 values; `value` holds the reference's own positions."""

    value: torch.Tensor
    picked: Picked
    """To be called while the inputs of its case are in place."""
    rule: Ties
    reference_error: float
    allowed: float
    draws: int = 1

    def judge(self, got: Sequence[torch.Tensor]) -> tuple[float, Wrong | None]:
        """In range, distinct where that is asked for, and picking the expected values."""
        picked = self.picked()
        index = got[0].to(picked.device).long()
        if not index.numel():
            return 0.0, None
        size = int(picked.numel() if self.rule.dim is None else picked.shape[self.rule.dim])
        wrong = _out_of_range(index, size) or self._twice(index)
        if wrong is not None:
            return float("inf"), wrong
        mine, wanted = self._values(picked, index), self._values(picked, self.value.to(index.device).long())
        expected = Expected(wanted, scale_of(wanted), self.reference_error, self.allowed)
        error, found = judge(mine, expected)
        if found is None:
            return error, None
        return error, Wrong("value", f"its positions pick other values: {found.evidence}", error)

    def _twice(self, index: torch.Tensor) -> Wrong | None:
        if not self.rule.distinct:
            return None
        dim = -1 if self.rule.dim is None else self.rule.dim
        sorted_index = index.sort(dim=dim).values
        again = sorted_index.diff(dim=dim) == 0
        if not bool(again.any()):
            return None
        return Wrong("value", f"{int(again.sum())} of {index.numel()} positions come twice", float("inf"))

    def _values(self, picked: torch.Tensor, index: torch.Tensor) -> torch.Tensor:
        """What positions pick, sorted where no order was promised."""
        dim = self.rule.dim
        if dim is None:
            found = picked.flatten()[index]
            return found if self.rule.ordered else found.flatten().sort().values
        if index.dim() < picked.dim():
            found = picked.gather(dim, index.unsqueeze(dim)).squeeze(dim)
        else:
            found = picked.gather(dim, index)
        return found if self.rule.ordered else found.sort(dim=dim).values


@dataclass(frozen=True)
class Unordered:
    """Values along a dimension in any order."""

    value: torch.Tensor
    dim: int | None
    reference_error: float
    allowed: float
    draws: int = 1

    def judge(self, got: Sequence[torch.Tensor]) -> tuple[float, Wrong | None]:
        """As the calibrated comparison, of sorted values."""
        wanted = in_order(self.value, self.dim)
        expected = Expected(wanted, scale_of(wanted), self.reference_error, self.allowed)
        return judge(in_order(got[0], self.dim), expected)


def in_order(values: torch.Tensor, dim: int | None) -> torch.Tensor:
    """Sorted along a dimension, or altogether; what is never written sorts last, as NaN."""
    if not values.dim():
        return values
    return values.flatten().sort().values if dim is None else values.sort(dim=dim).values


def _out_of_range(index: torch.Tensor, size: int) -> Wrong | None:
    outside = (index < 0) | (index >= size)
    if not bool(outside.any()):
        return None
    off = pattern.collected([outside])
    first = int(off.indices[0])
    evidence = (
        f"{off.count} of {index.numel()} positions lie outside 0 to {size - 1}{pattern.where(off, index.shape)}; "
        f"first at {pattern.at(first, index.shape)}: {int(index.flatten()[first])}"
    )
    return Wrong("value", evidence, float("inf"))
