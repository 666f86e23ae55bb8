"""What the largest error alone does not show: a small stretch beside large ones, and a mean that was taken of too few.

The largest error is measured against the whole output's scale. Two kinds of work can then be left out unseen:

- A stretch of elements that are all far smaller than the others. So every piece of PIECE neighbours is measured against its
  own magnitude too (*local*).
- Terms of a mean of many, where the output's dtype is coarse: a sample of them errs by less than a few of its ulps. But a
  result that is kept to single precision and rounded once is nearly always the true one rounded. So what is left of each
  error beyond half an ulp is averaged (*averaged*): it is that of the sum, however coarse the dtype.

Eager's own figures calibrate both, as they do the largest error.
"""

from dataclasses import dataclass
from math import log2, sqrt

import torch

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


@dataclass(frozen=True)
class Finer:
    """Both figures: of a result, or what is allowed; infinite where it is not looked at."""

    local: float = float("inf")
    averaged: float = float("inf")

    def or_more(self, other: "Finer") -> "Finer":
        """The larger of each."""
        return Finer(max(self.local, other.local), max(self.averaged, other.averaged))


NONE = Finer(0.0, 0.0)
ANY = Finer()


def figures(got: torch.Tensor, wanted: torch.Tensor, scale: float) -> Finer:
    """Both errors of a floating result against its fp64 reference, whose scale is `scale`."""
    if not got.is_floating_point() or not got.numel():
        return NONE
    g, w = got.reshape(-1), wanted.reshape(-1)
    squares = sum(float(part.double().square().sum()) for part in w.split(CHUNK))
    least = max(NOISE * sqrt(squares / w.numel()), torch.finfo(got.dtype).smallest_normal, FLUSHED)
    local, beyond = 0.0, 0.0
    for mine, theirs in zip(g.split(CHUNK), w.split(CHUNK), strict=True):
        theirs = theirs.double()
        error = (mine.double() - theirs).abs_()
        local = max(local, _local(error, theirs, least))
        beyond += float(_beyond_rounding(error, theirs, mine.dtype).div_(theirs.abs() + scale).square().sum())
    return Finer(local, sqrt(beyond / g.numel()))


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


def _local(error: torch.Tensor, wanted: torch.Tensor, least: float) -> float:
    """The largest of all pieces' root mean square errors, each relative to its own magnitude; 0.0 where there are not two."""
    whole = len(error) // PIECE * PIECE
    if whole < 2 * PIECE:
        return 0.0
    rms = [x[:whole].view(-1, PIECE).square().mean(1).sqrt() for x in (error, wanted)]
    return float((rms[0] / rms[1].clamp(min=least)).max())


def _beyond_rounding(error: torch.Tensor, wanted: torch.Tensor, dtype: torch.dtype) -> torch.Tensor:
    """What is left of each error where half an ulp of `dtype` at the true value is taken from it."""
    exponent = torch.frexp(wanted).exponent
    half_ulp = torch.ldexp(torch.full_like(wanted, torch.finfo(dtype).eps / 4), exponent)
    return (error - half_ulp).clamp_(min=0)


def allowed(spec: TensorSpec, eagers: Finer, k: float, floor: float, reduction: int) -> Finer:
    """What a candidate may show, from the worst that eager shows.

    Args:
        spec: the output.
        eagers: the largest of its figures over all draws and this case.
        k: how many times as coarse as eager a candidate may be.
        floor: of the largest error; it holds for pieces as well.
        reduction: elements that meet in one element of the output.
    """
    single = EPSILON["float32"] * 2 * log2(max(2, reduction))
    stored = STORED * EPSILON.get(spec.dtype, 0.0) / sqrt(max(1, reduction))
    return Finer(k * eagers.local + floor, k * eagers.averaged + single + stored)


def told(found: Finer, may: Finer) -> str:
    """Why figures are refused; empty where they are not."""
    if found.local > may.local:
        return f"{PIECE} neighbouring elements err by {found.local:.3g} of their own root mean square, allowed {may.local:.3g}"
    if found.averaged > may.averaged:
        return (
            f"beyond half an ulp it errs by {found.averaged:.3g} on average, allowed {may.averaged:.3g}: a sum of all terms "
            "that is rounded once does not"
        )
    return ""
