"""What the largest error alone does not show: a small stretch beside large ones, and a mean that was taken of too few.

The largest error is measured against the whole output's scale. Three kinds of work can then be left out unseen:

- A stretch of elements that are all far smaller than the others. So every piece of PIECE neighbours is measured against its
  own magnitude too (*local*).
- Small elements that have large neighbours: columns, tiles, results of rows that are small one by one. So it is counted how
  many lines, the least that is worth skipping, are not what they should be even roughly (*lost*). What a function loses where
  it vanishes, as log(1 + exp(x)) does far below zero, lies scattered, and leaves the magnitude of its line what it is.
- Terms of a mean of many, where the output's dtype is coarse: a sample of them errs by less than a few of its ulps. But a
  result that is kept to single precision and rounded once is nearly always the true one rounded. So what is left of each
  error beyond half an ulp is averaged (*averaged*): it is that of the sum, however coarse the dtype.

Eager's own figures calibrate both, as they do the largest error.
"""

from collections.abc import Iterator
from dataclasses import astuple, dataclass
from math import log2, sqrt
from typing import NamedTuple

import torch
from torch.nn.functional import pad

from kernelwright.records.tensor import EPSILON, TensorSpec

PIECE = 256
"""Neighbouring elements that are measured together."""
NOISE = 1e-14
"""Of the whole output's root mean square: a piece below it is the double precision's own rounding."""
FLUSHED = 1e-30
"""What a kernel that flushes subnormal numbers may make zero, and a few ulps above it."""
CHUNK = 1 << 24
"""Elements that are looked at together: a multiple of PIECE."""
HALVES = ("float16", "bfloat16")
STORED = 2.0
"""Ulps of the output for the root of the terms of a sum: each of them may have been rounded to the output's dtype."""
ROUNDED_AGAIN, MANY = 0.375, 1024
"""Ulps beyond half of one that many elements of half precision may err on average: three or four roundings more than one cost
0.1 to 0.24, scores of attention in half precision 0.33; a rational tanh 1.0, factors of eight bits 1.0 and more."""
FEWEST = 256
"""Elements of single precision that have an average."""
EXPONENT = 0x7FF << 52
"""Bits of a double that alone are the power of two at or below its magnitude."""
LINE = 16
"""Elements of a line: 64 bytes in single precision."""
MUCH = 16
"""Elements of an input for one of an output from which on leaving out that one alone is worth it."""
ROUGHLY = 2.0**-6
"""Share of a line's own magnitude beyond which it is lost; in coarse dtypes some ulps, in the coarsest half of it."""
MEETING, OF_STEPS = 8, 8.0
"""Steps of a piece that are not looked at, and ulps that those of a running sum may be off: each partial result is rounded."""
SPARED = 2.0**-7
"""Share of lines that may be lost in any case: less work than the smallest effect that is reported."""
FEW_LINES = 64
BY_CHANCE = 2
"""Lines that are not counted as lost: of sums with both signs one comes near nothing now and then, in one call of hundreds."""


@dataclass(frozen=True)
class Finer:
    """All three figures: of a result, or what is allowed; infinite where it is not looked at."""

    local: float = float("inf")
    averaged: float = float("inf")
    lost: float = float("inf")
    steps: float = float("inf")

    def or_more(self, other: "Finer") -> "Finer":
        """The larger of each."""
        return Finer(*map(max, astuple(self), astuple(other)))


NONE = Finer(0.0, 0.0, 0.0, 0.0)
ANY = Finer()


class Lines(NamedTuple):
    """How an output is cut into lines: along its memory, and down through what lies one below another."""

    length: int = LINE
    periods: tuple[int, ...] = ()
    """Elements from one row to the next, for each way down."""
    scan: tuple[int, int] = (0, 0)
    """Elements of a running sum, and from one of them to the next in memory; none where it is no running sum."""


ALONG = Lines()


def lines_of(spec: TensorSpec, largest: int) -> Lines:
    """The lines of an output; each element is one where `largest`, an input's number of elements, is many for each."""
    if largest >= MUCH * spec.numel:
        return Lines(1)
    ways = {spec.shape[-1], spec.numel // spec.shape[0]} if len(spec.shape) > 1 and spec.numel else set()
    return Lines(LINE, tuple(sorted(way for way in ways if way > 1)))


def figures(got: torch.Tensor, wanted: torch.Tensor, scale: float, lines: Lines, averaged: bool = True) -> Finer:
    """All errors of a floating result against its fp64 reference, whose scale is `scale`; without `averaged` not that one.

    A device is asked four questions, however large the result: beside other processes each waits for their turns.
    """
    if not got.is_floating_point() or not got.numel():
        return NONE
    g, w = got.reshape(-1), wanted.reshape(-1)
    least, steps = _least(w, got.dtype), steps_of(got, wanted, lines)
    local, beyond = [], []
    lost = _Lost(lines, least, got.dtype)
    for mine, theirs in zip(g.split(CHUNK), w.split(CHUNK), strict=True):
        theirs = theirs.double()
        error = mine.double().sub(theirs).abs_()
        off, own = error.square(), theirs.square()
        local.append(_local(off, own, least))
        lost.add(off, own)
        if not averaged:
            continue
        beyond.append(_beyond_rounding(error, theirs, mine.dtype).div_(theirs.abs().add_(scale)).square_().sum())
    # A NaN is larger than nothing.
    largest = float(torch.stack(local).nan_to_num(nan=0.0, posinf=float("inf")).max())
    mean = float(torch.stack(beyond).sum()) / g.numel() if averaged else 0.0
    return Finer(largest, sqrt(mean), lost.share, steps)


def steps_of(got: torch.Tensor, wanted: torch.Tensor, lines: Lines) -> float:
    """How far steps from one partial result of a running sum to the next are off, on average over a piece of them.

    Relative to the largest piece so far: rounding moves one partial result as it moves the next, or by an ulp of what was
    added up. A few steps of each piece are left out, where partial sums of blocks meet, or places that were looked at.
    """
    length, apart = lines.scan
    if length < 2 * PIECE or (apart > 1 and got.numel() % (length * apart)):
        return 0.0
    width = length if got.numel() % length == 0 else PIECE
    mine, right = (_along(x, width, apart) for x in (got, wanted))
    off = (mine - right).diff(dim=-1).abs_()
    off = off.sort(dim=-1).values[..., : PIECE - 1 - MEETING].square_().mean(-1).sqrt_()
    so_far = right.square().mean(-1).sqrt_().cummax(-1).values.clamp_(min=FLUSHED)
    return float((off / so_far).nan_to_num(nan=0.0, posinf=float("inf")).max()) if off.numel() else 0.0


def _along(values: torch.Tensor, width: int, apart: int) -> torch.Tensor:
    """Rows of whole pieces along a running sum."""
    rows = values.reshape(-1, width, apart).mT if apart > 1 else values.reshape(-1)[: values.numel() // width * width]
    rows = rows.reshape(-1, width)[:, : width // PIECE * PIECE].double()
    return rows.unflatten(1, (-1, PIECE))


def _least(wanted: torch.Tensor, dtype: torch.dtype) -> float:
    """Magnitude below which nothing of a result counts."""
    squares = torch.stack([torch.linalg.vector_norm(part.double()).square() for part in wanted.split(CHUNK)])
    rms = sqrt(float(squares.sum()) / wanted.numel())
    normal: float = torch.finfo(dtype).smallest_normal
    return max(NOISE * rms, normal, FLUSHED)


class _Lost:
    """Counts lines that are lost, part by part of a result, for each way in which lines are cut."""

    def __init__(self, lines: Lines, least: float, dtype: torch.dtype) -> None:
        self._lines, self._least, self._roughly = lines, least, roughly(dtype)
        self._counts: list[list[torch.Tensor]] = []
        """By part and way: lines that are lost, and lines that hold anything."""

    def add(self, off: torch.Tensor, own: torch.Tensor) -> None:
        """Squares of errors, and of what should be there."""
        ways = zip(_line_sums(off, self._lines), _line_sums(own, self._lines), strict=True)
        self._counts.append([self._counted(errors, values) for errors, values in ways])

    def _counted(self, errors: torch.Tensor, values: torch.Tensor) -> torch.Tensor:
        least = self._least**2 * self._lines.length
        lost = errors > self._roughly**2 * values.clamp(min=least)
        # Where zero is right, what mixes rows (Strassen's algorithm, a transform) leaves rounding of doubles.
        lost &= (values > 0) | (errors > least)
        return torch.stack([lost.sum(), ((values > least) | lost).sum()])

    @property
    def share(self) -> float:
        """The largest share of lines that hold anything."""
        ways: list[list[int]] = torch.stack([torch.stack(ways) for ways in self._counts]).sum(0).tolist()
        return max(max(0, lost - by_chance(seen)) / max(1, seen) for lost, seen in ways)


def by_chance(seen: int) -> int:
    """Lines of so many that may be lost by chance: of few, the reference is asked what cancellation explains."""
    return BY_CHANCE if seen > FEW_LINES else 0


def roughly(dtype: torch.dtype) -> float:
    """Share of its own magnitude by which a line of a result may be off before it is lost."""
    return min(0.5, max(ROUGHLY, 16 * float(torch.finfo(dtype).eps)))


def _line_sums(squares: torch.Tensor, lines: Lines) -> Iterator[torch.Tensor]:
    """Sums over each line, for each way in which lines are cut; what lies below whole lines at the end is left out."""
    rest = -len(squares) % lines.length
    yield (pad(squares, (0, rest)) if rest else squares).view(-1, lines.length).sum(1)
    for period in lines.periods:
        whole = len(squares) // (period * lines.length) * period * lines.length
        yield squares[:whole].view(-1, lines.length, period).sum(1).flatten()


def pieces_within(got: torch.Tensor, wanted: torch.Tensor, local: float, normal: float) -> torch.Tensor:
    """Whether no piece of any row errs by more than `local` of its own root mean square; rows of shape (rows, elements).

    One answer for all rows, which stays on their device. `normal` is the smallest normal number of the result's dtype.
    """
    whole = got.shape[1] // PIECE * PIECE
    if local == float("inf") or whole < 2 * PIECE:
        return torch.ones((), dtype=torch.bool, device=got.device)
    least = (NOISE * wanted.square().mean(1).sqrt()).clamp(min=max(normal, FLUSHED))[:, None]
    off, own = (x[:, :whole].unflatten(1, (-1, PIECE)).square().mean(2).sqrt() for x in (got - wanted, wanted))
    return (off <= local * torch.maximum(own, least)).all()


def lines_within(got: torch.Tensor, wanted: torch.Tensor, lost: float, dtype: torch.dtype, length: int) -> torch.Tensor:
    """Whether no row has a larger share of lost lines than `lost`; rows of shape (rows, elements), `dtype` is the result's.

    One answer for all rows, which stays on their device.
    """
    if lost == float("inf"):
        return torch.ones((), dtype=torch.bool, device=got.device)
    normal = max(torch.finfo(dtype).smallest_normal, FLUSHED)
    least = (NOISE * wanted.square().mean(1).sqrt()).clamp(min=normal).square()[:, None] * length
    off, own = (
        pad(x.square(), (0, -x.shape[1] % length)).unflatten(1, (-1, length)).sum(2) for x in (got - wanted, wanted)
    )
    missed = off > roughly(dtype) ** 2 * torch.maximum(own, least)
    seen = ((own > least) | missed).sum(1)
    return (missed.sum(1) - torch.where(seen > FEW_LINES, BY_CHANCE, 0) <= lost * seen).all()


def _local(off: torch.Tensor, own: torch.Tensor, least: float) -> torch.Tensor:
    """The largest of all pieces' root mean square errors, each relative to its own magnitude; zero where there are not two.

    `off` and `own` are squares of errors, and of what should be there.
    """
    whole = len(off) // PIECE * PIECE
    if whole < 2 * PIECE:
        return off.new_zeros(())
    error, magnitude = (x[:whole].view(-1, PIECE).mean(1).sqrt_() for x in (off, own))
    error.masked_fill_((magnitude == 0) & (error <= least), 0)
    return (error / magnitude.clamp_(min=least)).max()


def _beyond_rounding(error: torch.Tensor, wanted: torch.Tensor, dtype: torch.dtype) -> torch.Tensor:
    """What is left of each error where half an ulp of `dtype` at the true value is taken from it."""
    power = wanted.view(torch.int64).bitwise_and(EXPONENT).view(torch.float64)
    return torch.sub(error, power, alpha=torch.finfo(dtype).eps / 2).clamp_(min=0)


def averages_within(
    got: torch.Tensor, wanted: torch.Tensor, scale: torch.Tensor, averaged: float, dtype: torch.dtype
) -> torch.Tensor:
    """Whether no row errs by more than `averaged` on average, beyond half an ulp of `dtype`; rows have a scale each.

    One answer for all rows, which stays on their device.
    """
    if averaged == float("inf"):
        return torch.ones((), dtype=torch.bool, device=got.device)
    beyond = _beyond_rounding((got - wanted).abs(), wanted, dtype) / (wanted.abs() + scale[:, None])
    return (beyond.square().mean(1).sqrt() <= averaged).all()


class Sums(NamedTuple):
    """What meets in one element of an output."""

    reduction: int
    """How many elements."""
    sampled: bool = False
    """Whether a sixteenth of them would do nearly as well, in its coarse dtype."""
    in_turn: int = 0
    """Of exponentials, how many may be rounded one way; 0: of no exponentials."""


def allowed(spec: TensorSpec, eagers: Finer, k: float, floor: float, sums: Sums) -> Finer:
    """What a candidate may show, from the worst that eager shows.

    Args:
        spec: the output.
        eagers: the largest of its figures over all draws and this case.
        k: how many times as coarse as eager a candidate may be.
        floor: of the largest error; it holds for pieces as well.
        sums: what meets in one element of the output.
    """
    single = EPSILON["float32"] * 2 * log2(max(2, sums.reduction))
    averaged, own = k * eagers.averaged + single, EPSILON.get(spec.dtype, 0.0)
    if sums.sampled:
        averaged += STORED * own / sqrt(max(1, sums.reduction))
    elif spec.dtype in HALVES and spec.numel >= MANY:
        averaged += ROUNDED_AGAIN * own
    elif sums.in_turn and spec.numel >= FEWEST:
        averaged += EPSILON["float32"] * min(sums.reduction, sums.in_turn) / 16
    else:
        averaged = float("inf")
    return Finer(k * eagers.local + floor, averaged, k * eagers.lost + SPARED)


def of_scan(spec: TensorSpec, eagers: Finer, k: float) -> Finer:
    """The same of what depends on a running sum: where it comes back to zero, rounding is far more than a few ulps of it."""
    steps = k * eagers.steps + OF_STEPS * EPSILON.get(spec.dtype, 0.0)
    return Finer(lost=k * eagers.lost + SPARED, steps=steps)


def told(found: Finer, may: Finer) -> str:
    """Why figures are refused; empty where they are not."""
    if found.steps > may.steps:
        return (
            f"steps of its running sum err by {found.steps:.3g} of what was added up, allowed {may.steps:.3g}: some elements "
            "are not added at their places"
        )
    if found.local > may.local:
        return f"{PIECE} neighbouring elements err by {found.local:.3g} of their own root mean square, allowed {may.local:.3g}"
    if found.lost > may.lost:
        return (
            f"{found.lost:.2%} of its lines are not what they should be even roughly, allowed {may.lost:.2%}: elements that "
            "are small beside others count as well"
        )
    if found.averaged > may.averaged:
        return (
            f"beyond half an ulp it errs by {found.averaged:.3g} on average, allowed {may.averaged:.3g}: what is worked out "
            "in single precision, of all terms, and rounded once does not"
        )
    return ""
