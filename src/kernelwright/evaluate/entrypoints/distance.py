"""How far two tensors are apart, in a child that knows no tolerance: relative to their own size, piece by piece."""

import torch

from kernelwright.evaluate.float8 import wide
from kernelwright.evaluate.triton.calltree import real

PIECE = 1 << 25
"""Elements that are compared at a time: their copies in double precision are several times as large."""
SAMPLED = 1 << 16


def finite(values: torch.Tensor) -> bool:
    """Whether no element is NaN or infinite."""
    return all(bool(torch.isfinite(wide(piece)).all()) for piece in real(values).reshape(-1).split(PIECE))


def apart(some: torch.Tensor, other: torch.Tensor) -> float:
    """The largest difference of two tensors of one shape, relative to an element and the median magnitude without zeros."""
    one, two = (real(t).reshape(-1) for t in (some, other))
    if not len(one):
        return 0.0
    sample = two[:: max(1, len(two) // SAMPLED)].double().abs()
    middle = float(sample[sample != 0].median().nan_to_num(0.0))
    scale = max(middle, float(sample.square().mean().sqrt()) * 1e-3, 1e-30)
    pairs = zip(one.split(PIECE), two.split(PIECE), strict=True)
    return max(float(_errors(a.double(), b.double(), scale).max()) for a, b in pairs)


def _errors(some: torch.Tensor, other: torch.Tensor, scale: float) -> torch.Tensor:
    return ((some - other).abs() / (other.abs() + scale)).nan_to_num_(nan=float("inf"))
