"""Questions to a large tensor, piece by piece: inputs may all but fill a device, and torch's own answers take copies of them.

`torch.equal` on a device writes down for every element whether it is, and `count_nonzero` an integer of eight bytes.
"""

from collections.abc import Iterable

import torch

from kernelwright.evaluate import float8

PIECE = 1 << 25
"""Elements that are looked at together."""


def of(values: torch.Tensor) -> tuple[torch.Tensor, ...]:
    """The elements in one row, cut into pieces; views, where the tensor is contiguous."""
    return tuple(values.reshape(-1).split(PIECE))


def equal(some: torch.Tensor, others: torch.Tensor) -> bool:
    """Whether two tensors have the same shape and the same elements; a NaN is like none."""
    if some.shape != others.shape:
        return False
    both = zip(of(some), of(others), strict=True)
    if not some.is_cuda:
        return all(torch.equal(a, b) for a, b in both)
    # One question for all: beside other processes each waits for their turns.
    parts = [(a == b).all() for a, b in both]
    return bool(torch.stack(parts).all()) if parts else True


def all_finite(values: torch.Tensor) -> bool:
    """Whether no element is NaN or infinite."""
    parts = [torch.isfinite(float8.wide(part)).all() for part in of(values)]
    return bool(torch.stack(parts).all()) if parts else True


def each_finite(values: Iterable[torch.Tensor]) -> bool:
    """The same of several tensors, of which integers always are."""
    return all(all_finite(v) for v in values if v.is_floating_point())
