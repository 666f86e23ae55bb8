"""Where a result is wrong, in words: coordinates, a few wrong and right values, and the pattern that they make.

A pattern is the shortest way to a cause: the last columns are a mask or a tail, every 32nd index is a lane, one batch is a
stride, a constant factor is a missing scale. Only what holds for every wrong element is said, so that no hint misleads.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import islice
from math import gcd, prod

import torch

MOST = 1 << 16
"""Wrong elements that a pattern is read from; of more, the first half of so many and others evenly."""
SHOWN = 3
"""Elements whose values are shown beside the worst."""
FEWEST, FEWEST_IN_STEP, FEWEST_WITH_GAPS = 4, 3, 32
"""Wrong elements of which a relation is said; indices of which a period is said, where none or some of its places are
right: fewer make one by chance."""
ALIKE = 1e-3
"""Largest relative spread of a relation that is called the same for all."""
CLAUSES = 2
"""Dimensions of which a pattern is told."""


@dataclass(frozen=True)
class WrongElements:
    """How many elements are wrong, and the flat indices of those that are looked at, ascending."""

    count: int
    indices: torch.Tensor


def collected(masks: Iterable[torch.Tensor]) -> WrongElements:
    """The wrong elements of consecutive flat masks."""
    count, start = 0, 0
    found: list[torch.Tensor] = []
    for mask in masks:
        here = mask.reshape(-1).nonzero().reshape(-1)
        count += len(here)
        found.append(_some(here).cpu() + start)
        start += mask.numel()
    return WrongElements(count, _some(torch.cat(found)) if found else torch.zeros(0, dtype=torch.int64))


def _some(indices: torch.Tensor) -> torch.Tensor:
    """At most MOST of them. The first ones follow each other, or a period would be mistaken for a longer one."""
    if len(indices) <= MOST:
        return indices
    rest = indices[MOST // 2 :]
    return torch.cat([indices[: MOST // 2], rest[:: -(-2 * len(rest) // MOST)]])


def at(flat: int, shape: Sequence[int]) -> str:
    """The coordinates of a flat index, as PyTorch takes them."""
    place: list[int] = []
    for size in reversed(shape):
        flat, index = divmod(flat, size)
        place.append(index)
    return str(place[::-1])


def where(wrong: WrongElements, shape: Sequence[int]) -> str:
    """The pattern that the places of the wrong elements make, as `: the last 3 of 96 along dimension 1`; empty: none."""
    if wrong.count == prod(shape):
        return ": all of them"
    if wrong.count < 2:
        return ""
    indices, clauses = wrong.indices, []
    for dim, size in reversed(list(enumerate(shape))):
        along = indices // prod(shape[dim + 1 :]) % size
        clause = _along(torch.unique(along), size)
        if clause:
            clauses.append(f"{clause} along dimension {dim}")
    told = clauses[:CLAUSES] or [_flat(wrong, prod(shape))]
    return f": only {' and '.join(told)}" if told[0] else ""


def _along(indices: torch.Tensor, size: int) -> str:
    """What the indices of one dimension have in common; empty where they are all that there are, or nothing."""
    first, last, count = int(indices[0]), int(indices[-1]), len(indices)
    if count == size:
        return ""
    if count == 1:
        return f"index {first} of {size}"
    if last - first + 1 == count:
        if last == size - 1:
            return f"the last {count} of {size}"
        return f"the first {count} of {size}" if first == 0 else f"indices {first} to {last} of {size}"
    period = _period(indices)
    return f"every {_nth(period)} index from {first} on" if period > 1 else ""


def _flat(wrong: WrongElements, size: int) -> str:
    """What the flat indices have in common."""
    first, last = int(wrong.indices[0]), int(wrong.indices[-1])
    if last - first + 1 == wrong.count:
        return f"one stretch of memory, flat index {first} to {last}{', the end' if last == size - 1 else ''}"
    period = _period(wrong.indices)
    return f"every {_nth(period)} element of memory from flat index {first} on" if period > 1 else ""


def _period(indices: torch.Tensor) -> int:
    """The greatest common divisor of the distances; 1 where so few indices, or so few without a gap, say nothing."""
    if len(indices) < FEWEST_IN_STEP:
        return 1
    found = gcd(*torch.unique(indices.diff()).tolist())
    without_gap = int(indices[-1] - indices[0]) == found * (len(indices) - 1)
    return found if without_gap or len(indices) >= FEWEST_WITH_GAPS else 1


def _nth(number: int) -> str:
    endings = {1: "st", 2: "nd", 3: "rd"}
    return f"{number}{'th' if number % 100 in (11, 12, 13) else endings.get(number % 10, 'th')}"


def values(wrong: WrongElements, got: torch.Tensor, wanted: torch.Tensor, besides: int) -> str:
    """A few more wrong elements with their values, beside one that is told already, and how they relate to the right ones."""
    flat = (got.reshape(-1), wanted.reshape(-1))
    spread = wrong.indices[:: max(1, len(wrong.indices) // (SHOWN + 1))].tolist()
    shown = islice((i for i in spread if i != besides), SHOWN)
    pairs = [f"{at(i, got.shape)}: expected {_number(flat[1][i])}, got {_number(flat[0][i])}" for i in shown]
    told = f"; also {'; '.join(pairs)}" if pairs else ""
    return told + _relation(*(part[wrong.indices.to(part.device)].double() for part in flat))


def _number(value: torch.Tensor) -> str:
    found = value.item()
    return f"{found:.6g}" if isinstance(found, float) else str(found)


def _relation(got: torch.Tensor, wanted: torch.Tensor) -> str:
    """A factor, or a difference, that is the same for all wrong elements."""
    if len(got) < FEWEST or not bool(torch.isfinite(got).all() & torch.isfinite(wanted).all()):
        return ""
    if bool((got == got[0]).all()):
        return f"; each wrong element is {_number(got[0])}"
    known = wanted != 0
    factor, offset = got[known] / wanted[known], got - wanted
    if len(factor) >= FEWEST and _same(factor):
        return f"; each is {_number(factor.median())} times what is expected"
    return f"; each differs by {_number(offset.median())}" if _same(offset) else ""


def _same(numbers: torch.Tensor) -> bool:
    return bool((numbers - numbers.median()).abs().max() <= ALIKE * numbers.median().abs())
