"""What may differ because rounding decides in serial code: which way a branch goes, when a loop ends, which of two is nearer.

A refused result is looked at once more. The function itself says what it gives in its own precision, with products and sums
fused, and where inputs err by chance; an element that moves with that lies on an edge, and may lie anywhere between, or as
far beyond. Not every edge shows in so few ways. As many elements as lie on one may differ besides, few in all and spread over
the result as those are: what a kernel leaves out lies together. Where rounding decides nothing, a wrong kernel stays wrong.
"""

import re

import torch

from kernelwright.evaluate.sandbox.messages.calls import FUSED, SINGLE
from kernelwright.evaluate.session.input_sensitivity import Elements, Nudgeable
from kernelwright.evaluate.verify import compare
from kernelwright.evaluate.verify.compare import Expected, Recomputed
from kernelwright.evaluate.verify.exact import Stepped
from kernelwright.records.task import Task

WAYS = ("eager", FUSED, *(SINGLE,) * 8)
"""In which rounding may fall."""
LEAP = 2.0**-6
"""An error beyond which an element took another way, and is not badly rounded."""
LOOKED_AT, FEW_OF = 64, 256
"""Of so many elements one may be off for this to be looked into, and of so many one may lie on an edge that nothing showed."""
STRETCHES, CHANCE = 16, 2
"""Into which a result is cut to see where its elements are off, and how many more may be, in each, than lie on edges."""
_FLOATS = re.compile(r"\b(?:float|double)\b")


def without_leaps(task: Task, got: torch.Tensor, truth: torch.Tensor, scale: float) -> torch.Tensor:
    """What serial code computes, made right where few elements took another way: that is no measure of what others may err."""
    if not decides(task) or not got.numel():
        return got
    leaps = compare.error_of(got, truth, scale) > LEAP
    few = int(leaps.sum()) <= got.numel() // FEW_OF
    return torch.where(leaps, truth.to(got), got) if few else got


def decides(task: Task) -> bool:
    """Whether rounding may decide something: serial code that computes with floats."""
    return is_serial(task) and bool(_FLOATS.search(task.source.serial))


def is_serial(task: Task) -> bool:
    """Whether the task's reference is a serial function."""
    return any(node.op.startswith("serial.") for node in task.graph.nodes)


def settled(
    session: Nudgeable, expected: Expected | Recomputed | Stepped, elements: Elements, got: torch.Tensor
) -> torch.Tensor | None:
    """A result made right wherever it is what other roundings may come to; None where they explain nothing."""
    value = expected.value.double().view(got.shape)
    mine, least = got.double().to(value.device), 0.0 if isinstance(expected, Stepped) else expected.allowed
    if not decides(session.task) or not 0 < _off(mine, value, least).sum() <= CHANCE + got.numel() // LOOKED_AT:
        return None
    low, high = value, value
    for way in WAYS:
        there = elements.pick(session.results(way, elements.offsets)[elements.output]).double().view(got.shape)
        low, high = torch.minimum(low, there), torch.maximum(high, there)
    moved = _off(high, low, least)
    if not bool(moved.any()):
        return None
    rest = torch.where(moved & between(mine, low, high, least), value, mine)
    off = _off(rest, value, least)
    spared = bool(rest[off].isfinite().all()) and _as_edges_are(off, moved)
    return torch.where(off & spared, value, rest).to(got)


def between(mine: torch.Tensor, low: torch.Tensor, high: torch.Tensor, allowed: float) -> torch.Tensor:
    """Which elements lie between two values, or as far beyond; where one is infinite, which are one of them."""
    span, scale = high - low, compare.scale_of(mine)
    ends = [(mine == end) | (compare.error_of(mine, end, scale) <= allowed) for end in (low, high)]
    return torch.where(span.isfinite(), (low - span <= mine) & (mine <= high + span), ends[0] | ends[1])


def _off(one: torch.Tensor, other: torch.Tensor, allowed: float) -> torch.Tensor:
    return (one != other) & (compare.error_of(one, other, compare.scale_of(other)) > allowed)


def _as_edges_are(off: torch.Tensor, moved: torch.Tensor) -> bool:
    """Whether what is off may lie on edges that nothing showed: no more than showed, few, and where those are."""
    if int(off.sum()) > min(int(moved.sum()), off.numel() // FEW_OF):
        return False
    return bool((_by_stretch(off) <= _by_stretch(moved) + CHANCE).all())


def _by_stretch(there: torch.Tensor) -> torch.Tensor:
    size = -(-there.numel() // STRETCHES)
    places = there.flatten().nonzero().flatten() // max(size, 1)
    return torch.bincount(places, minlength=STRETCHES)
