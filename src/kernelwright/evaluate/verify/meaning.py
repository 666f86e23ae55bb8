"""What inputs mean, as cases: order, distance from zero, and rows of every kind, for each input in its own way.

Random draws are all alike: no row of them is sorted, none is zero, no value comes much more often than another. A kernel that
counts on that is right on every draw, and wrong where its users have padding, sorted scores, one busy expert or a mean of 300.

A case changes all inputs at once, and row by row in several ways, so that few cases have many of them. What the draws of an
input have in common (`timing/structure.py`) holds afterwards too, or the input stays as it was drawn.
"""

from collections.abc import Callable, Collection
from dataclasses import dataclass
from math import log2
from typing import Literal, NamedTuple

import torch

from kernelwright.records.tensor import EPSILON, Domain, TensorSpec

SORTED, DISTINCT, SAME_SUM, SAME = (
    "sorted",
    "no value twice in a row",
    "the same sum of every row",
    "the same in every draw",
)
"""What draws may have in common that a change must know of."""
SOME = 1 << 24
"""Elements of an input that are put in order or replaced together, at most: more take seconds."""
LOOKED_AT = 1 << 16
"""Elements that a spread is taken of."""
MOST = 0.9
"""Share of a choice that one value takes."""
STRETCHES = 8
"""Into so many rows an input of one is cut."""
ANYWHERE, FEW, MANY = 0, 3, 5
"""The largest elements lie next to one another, or as far apart as one of two powers of two, from these on, says."""
Across = Literal["rows", "columns", "slices"]
"""What is of another kind: what lies along the last dimension; along the first of a matrix, or the second of more dimensions;
or all that has one index of the second dimension, of one or of every index of the first."""
LEVEL, ONE_OF = 2, 8
"""Kinds that whole slices are of, zero and of one value, and among how many of them one is of each."""
FEWEST = 16
"""Elements below which an input has no rows of several kinds."""


class Given(NamedTuple):
    """The input that is changed."""

    spec: TensorSpec
    generator: torch.Generator
    number: int = 0
    """Which input it is."""
    properties: Collection[str] = ()
    """What its draws have in common."""

    def below(self, count: int, shape: tuple[int, ...], device: torch.device) -> torch.Tensor:
        """Random whole numbers below `count`."""
        return torch.randint(count, shape, generator=self.generator, device=device)

    @property
    def chooses(self) -> bool:
        """Whether values name something, so that none but those that were drawn is one."""
        return not self.spec.floating or self.spec.domain is Domain.LABEL


Transform = Callable[[torch.Tensor, Given], None]
"""Changes a tensor in its place: there may be no memory for another."""


def in_order(x: torch.Tensor, given: Given) -> None:
    """Half of the rows ascend, others descend or ascend from anywhere on, or in strides: the largest lie together."""
    if SAME in given.properties:
        return
    rows = _some(_rows(x.view(torch.uint8) if x.dtype == torch.bool else x), given)
    found = ascending = rows.sort(dim=-1).values
    kind, width = given.below(8, (len(rows), 1), x.device), rows.shape[-1]
    found = torch.where(kind == 0, ascending.flip(-1), found)
    for number, least in enumerate((ANYWHERE, FEW, MANY), 1):
        lanes = 1 << least + int(given.below(2, (1,), x.device)) if least else width + 1
        anywhere = int(given.below(width, (1,), x.device))
        turned = ascending.roll(anywhere, -1) if width % lanes else ascending.unflatten(1, (lanes, -1)).mT.flatten(1)
        found = torch.where(kind == number, turned, found)
    rows.copy_(found)


def far_from_zero(spreads: float, together: bool = False) -> Transform:
    """All elements are moved by so many times their spread; every other input the other way, or all `together`, by as much."""

    def move(x: torch.Tensor, given: Given) -> None:
        # What is added must leave some bits of what was there.
        by = min(spreads, 1 / (8 * EPSILON[given.spec.dtype])) * _spread(x)
        if together:  # of inputs that are alike the difference is as it was
            by = 2.0 ** round(log2(by))
        x.add_(-by if given.number % 2 and given.spec.domain is Domain.REAL and not together else by)

    return move


@dataclass(frozen=True)
class OfEveryKind:
    """Every second row is of another kind: zero, of one value, with ties, tiny, large, with one outlier, of one sign, moved.

    Choices take one value nearly everywhere, and another one nowhere. Rows of masks are full or empty.
    """

    weaker: bool = False
    """Without what a logarithm, a quotient or an exponential does not bear."""
    across: Across = "rows"

    def __call__(self, x: torch.Tensor, given: Given) -> None:
        """See `Transform`."""
        if self.across != "rows":
            self._turned(x, given)
            return
        rows = _rows(x)
        if SAME in given.properties:
            if given.spec.domain in (Domain.INDEX, Domain.LABEL) and not self.weaker:
                _exchange(_some(rows, given), given)
        elif given.chooses and given.spec.domain is not Domain.MASK:
            _skew(_some(rows, given), given)
        elif x.numel() >= FEWEST:
            if len(rows) == 1 and given.spec.domain is not Domain.PROBABILITY:
                rows = rows[0, : x.numel() // STRETCHES * STRETCHES].view(STRETCHES, -1)
            self._by_row(rows, given, self._kinds(x, given))

    def _turned(self, x: torch.Tensor, given: Given) -> None:
        """Columns, or slices: as rows of a copy. Masks alone have columns where there is one dimension: they are empty."""
        masks = given.spec.domain is Domain.MASK
        if SAME in given.properties or (given.chooses and not masks) or x.numel() > SOME:
            return
        if x.dim() < 2 or (masks and x.numel() < FEWEST):
            x.fill_(int(self.weaker)) if masks else None
            return
        kinds = [*reversed(self._kinds(x, given))] if masks else self._kinds(x, given)
        if self.across == "columns":
            turned = x.movedim(min(1, x.dim() - 2), -1).contiguous()
            self._by_row(turned.view(-1, turned.shape[-1]), given, kinds)
            x.copy_(turned.movedim(-1, min(1, x.dim() - 2)))
        elif x.dim() > 2:
            self._by_row(x.view(x.shape[0] * x.shape[1], -1), given, kinds)
            whole = x.movedim(1, 0).contiguous()
            self._by_row(whole.view(len(whole), -1), given, kinds[:LEVEL], ONE_OF)
            x.copy_(whole.movedim(0, 1))

    def _kinds(self, x: torch.Tensor, given: Given) -> list[Callable[[torch.Tensor], torch.Tensor]]:
        if given.spec.domain is Domain.MASK:
            return [_all(1), _all(1 if self.weaker else 0)]
        if given.spec.domain is Domain.PROBABILITY:
            return [lambda r: torch.full_like(r, 1 / r.shape[-1])]
        spread, at = _spread(x), int(given.below(1 << 30, (1,), x.device))
        # A power of two, whose sums are exact: what is left of a row of one value is then no question of rounding.
        one = 2.0 ** torch.tensor(spread).clamp(min=1e-30).log2().floor().item()
        mild: list[Callable[[torch.Tensor], torch.Tensor]] = [
            lambda r: (r / (spread / 2)).round() * (spread / 2),
            torch.abs,
            lambda r: r + 4 * spread,
            lambda r: _outlier(r, at, 4.0),
        ]
        if self.weaker:
            return mild
        strong: list[Callable[[torch.Tensor], torch.Tensor]] = [
            _all(0.0),
            _all(one),
            lambda r: r * 2.0**-10,
            lambda r: r * 16,
            lambda r: _outlier(torch.zeros_like(r), at, 0.0, spread),
            lambda r: _outlier(r, at, 64.0),
        ]
        return strong + mild

    def _by_row(
        self, rows: torch.Tensor, given: Given, kinds: list[Callable[[torch.Tensor], torch.Tensor]], among: int = 0
    ) -> None:
        """Rows of each kind; of `among` rows one for each, and the others stay."""
        count = len(rows)
        lot = torch.randperm(count, generator=given.generator, device=rows.device)
        lot = lot % (among or (2 * len(kinds) if count >= 2 * len(kinds) else len(kinds)))
        for number, kind in enumerate(kinds):
            chosen = (lot == number).nonzero().view(-1)[: max(1, SOME // max(1, rows.shape[-1]))]
            if len(chosen):
                rows[chosen] = kind(rows[chosen]).to(rows.dtype)


def _all(value: float) -> Callable[[torch.Tensor], torch.Tensor]:
    return lambda r: torch.full_like(r, value)


def _outlier(r: torch.Tensor, at: int, times: float, plus: float = 0.0) -> torch.Tensor:
    """One element of each row many times as large."""
    r = r.clone()
    r[:, at % r.shape[-1]] *= times
    r[:, at % r.shape[-1]] += plus
    return r


def _spread(x: torch.Tensor) -> float:
    """About how far values lie apart; one where they do not."""
    flat = x.view(-1)
    found = float(flat[:: max(1, flat.numel() // LOOKED_AT)].float().std(correction=0)) if flat.numel() else 0.0
    return found if 0 < found < float("inf") else 1.0


def _skew(rows: torch.Tensor, given: Given) -> None:
    """One value nearly everywhere, and one nowhere. Where rows have no value twice, it is in nearly every row instead."""
    picked = rows.reshape(-1)[given.below(rows.numel(), (LOOKED_AT,), rows.device)]
    value = picked[0]
    absent = picked[int((picked != value).to(torch.uint8).argmax())]
    if SAME_SUM in given.properties:
        _heap(rows, given)
    elif DISTINCT in given.properties:
        without = (rows != value).all(-1) & (given.below(10, (len(rows),), rows.device) < 10 * MOST)
        rows[without, 0] = value
    else:
        lot = torch.rand(rows.shape, generator=given.generator, device=rows.device) < MOST
        rows[lot | (rows == absent)] = value


def _heap(rows: torch.Tensor, given: Given) -> None:
    """Nearly all counts of a row are the least that there is, and one of them what the others gave."""
    low = rows.min()
    lot = torch.rand(rows.shape, generator=given.generator, device=rows.device) < MOST
    left = torch.where(lot, rows - low, 0).sum(-1)
    rows[lot] = low
    rows[:, int(given.below(rows.shape[-1], (1,), rows.device))] += left.to(rows.dtype)


def _exchange(rows: torch.Tensor, given: Given) -> None:
    """What is the same in every draw is read all the same: an eighth of it changes, and order and difference stay.

    Consecutive numbers can be nothing else in their order, so that some of them change places.
    """
    width = rows.shape[-1]
    consecutive = width > 1 and bool((rows.diff(dim=-1).abs() == 1).all())
    if width < 2 or not given.spec.numel:
        return
    if SORTED in given.properties and not consecutive and not given.spec.floating:
        low, high = torch.minimum(rows[:, :-2:2], rows[:, 2::2]), torch.maximum(rows[:, :-2:2], rows[:, 2::2])
        apart = int(DISTINCT in given.properties)
        room = (high - low - 2 * apart + 1).clamp(min=1)
        lot = torch.rand(low.shape, generator=given.generator, device=rows.device)
        found = low + apart + (lot * room).to(rows.dtype)
        rows[:, 1:-1:2] = torch.where(high - low > 2 * apart - 1, found, rows[:, 1:-1:2])
        return
    places = torch.randperm(width, generator=given.generator, device=rows.device)[: max(2, width // 8)]
    rows[:, places] = rows[:, places.roll(1)]


def _rows(x: torch.Tensor) -> torch.Tensor:
    """All rows, along the last dimension."""
    return x.view(-1, x.shape[-1]) if x.dim() > 1 else x.view(1, -1)


def _some(rows: torch.Tensor, given: Given) -> torch.Tensor:
    """As many rows, in one piece, as have SOME elements; of a longer one a part."""
    width = min(rows.shape[-1], SOME)
    count = min(len(rows), max(1, SOME // max(1, width)))
    first = int(given.below(len(rows) - count + 1, (1,), rows.device))
    begin = int(given.below(rows.shape[-1] - width + 1, (1,), rows.device))
    return rows[first : first + count, begin : begin + width]
