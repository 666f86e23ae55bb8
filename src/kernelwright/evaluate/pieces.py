"""Questions to a large tensor, piece by piece: inputs may all but fill a device, and torch's own answers take copies of them.

`torch.equal` on a device writes down for every element whether it is, and `count_nonzero` an integer of eight bytes.
"""

from collections.abc import Collection, Iterable

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


def first_broken(values: Iterable[torch.Tensor], infinite: Collection[int] = ()) -> str:
    """The first of several tensors that is NaN or infinite, and where; empty where none is.

    Those of the numbers in `infinite` may be infinite. Integers never are.
    """
    for number, tensor in enumerate(values):
        if not tensor.is_floating_point() or all_finite(tensor):
            continue
        flat = float8.wide(tensor).reshape(-1)
        found = (flat.isnan() if number in infinite else ~flat.isfinite()).nonzero()
        if len(found):
            at = [int(n) for n in torch.unravel_index(found[0], tensor.shape)]
            return f"output {number} is {flat[found[0]].item()} at {at}"
    return ""


def difference(copy: torch.Tensor, given: torch.Tensor) -> str:
    """How many elements of a tensor of any dtype were changed, and the first of them; empty for none."""
    if (copy.shape, copy.dtype) != (given.shape, given.dtype):
        return f"it became {list(copy.shape)} of {copy.dtype}"
    mine, theirs = (t.contiguous().reshape(-1).view(torch.uint8) for t in (copy, given))
    differs = (mine.to(theirs.device) != theirs).view(-1, copy.element_size()).any(dim=1)
    if not bool(differs.any()):
        return ""
    where = int(differs.to(torch.uint8).argmax())
    before, after = given.reshape(-1)[where].item(), copy.reshape(-1)[where].item()
    return (
        f"{int(differs.sum())} of {copy.numel()} elements changed, first at flat index {where} from {before} to {after}"
    )
