"""Outputs of which a sample of the inputs would do: means of many, in a dtype that is coarser than the sample's error.

Found by asking the reference: of every sixteen lines of an input the first takes the place of the others. Where its result
hardly changes by that, a kernel that reads one line of sixteen is as near as one that reads them all, so that no largest error
tells them apart; what is averaged must (`verify/finer.py`).
"""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Protocol

import torch

from kernelwright.evaluate.session.expectations import CaseContext, Offsets, Seen
from kernelwright.evaluate.verify import compare
from kernelwright.evaluate.verify.finer import HALVES
from kernelwright.records.tensor import ITEM_BYTES

LINE_BYTES, SUBSAMPLE = 64, 16
"""Bytes that are read together, and of how many such lines one is kept."""
NEAR = 4.0
"""Times what is allowed, within which another sample may be allowed."""


class Sampled(CaseContext, Protocol):
    """What is needed of a session."""

    def wanted(self, offsets: Offsets, output: int) -> torch.Tensor:
        """What fp64 says of the inputs that lie at these offsets now."""
        ...


def coarse_averages(session: Sampled, offsets: Offsets, seen: Sequence[Seen]) -> frozenset[int]:
    """Outputs in half precision that a sixteenth of the inputs at these offsets gives nearly as well."""
    halves = [i for i, spec in enumerate(session.task.workload.outputs) if spec.dtype in HALVES and spec.numel]
    large = [
        i
        for i, spec in enumerate(session.inputs)
        if spec.floating and spec.nbytes >= LINE_BYTES * SUBSAMPLE * SUBSAMPLE
    ]
    if not halves or not large or not session.affords_copies:
        return frozenset()
    with _thinned(session, large, offsets):
        found = session.results("eager", offsets)
    return frozenset(i for i in halves if _near(session, i, found[i], (offsets, seen[i])))


def _near(session: Sampled, output: int, found: torch.Tensor, case: tuple[Offsets, Seen]) -> bool:
    offsets, seen = case
    value = seen.value if seen.value.numel() else session.wanted(offsets, output)
    error = compare.largest_error(found, value, seen.scale)
    return error <= NEAR * session.allowed(output, seen.error)


@contextmanager
def _thinned(session: Sampled, large: Sequence[int], offsets: Offsets) -> Iterator[None]:
    kept = {index: session.view(index, offsets[index]).clone() for index in large}
    for index in large:
        group = LINE_BYTES * SUBSAMPLE // ITEM_BYTES[session.inputs[index].dtype]
        flat = session.view(index, offsets[index]).view(-1)
        lines = flat[: len(flat) // group * group].view(-1, SUBSAMPLE, group // SUBSAMPLE)
        lines[:] = lines[:, :1].clone()
    session.settle()
    try:
        yield
    finally:
        for index, before in kept.items():
            session.view(index, offsets[index]).copy_(before)
        session.settle()
