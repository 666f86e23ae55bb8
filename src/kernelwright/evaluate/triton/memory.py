"""Memory in Triton's interpreter: every lane of a load, store or atomic must hit a tensor, in no race.

A lane is in bounds when all its bytes lie in the storage of one of the tensors that the kernel was
given. Not covered: an overrun that stays inside the same storage, and kernels that make pointers from
integers, for which nothing is checked.

A race between the programs of one launch, which an interpreter that runs them in turn would not show, is a program that
reads what another one wrote, or that writes what another one read: on the device they run in no order. Not covered: two
programs that write the same address, and what follows an atomic operation, by which programs may have agreed on an order.
"""

from collections.abc import Iterator, Mapping
from typing import NamedTuple

import numpy as np
import torch
from triton.runtime import interpreter
from triton.runtime.jit import TensorWrapper
from triton.tools.tensor_descriptor import TensorDescriptor

from kernelwright.evaluate.triton.fault import CandidateError, FaultKind
from kernelwright.evaluate.triton.untyped import Array, Handle

NOBODY, SEVERAL = -1, -2
LARGEST_BYTES = 64 << 20
"""Launches on more memory than this are not checked."""


class RaceError(CandidateError):
    """The result depends on the order in which programs run."""

    kind: FaultKind = "race"


class AccessLog:
    """Who read and who wrote each address of one launch. Addresses are offsets into its tensors."""

    def __init__(self, total_bytes: int) -> None:
        self._open = total_bytes <= LARGEST_BYTES
        self._reader = np.full(total_bytes if self._open else 0, NOBODY, dtype=np.int32)
        self._writer = self._reader.copy()

    def close(self) -> None:
        """Check nothing more."""
        self._open = False

    def read(self, offsets: Array, program: int) -> None:
        """Note a load.

        Raises:
            RaceError: another program wrote one of the addresses.
        """
        if self._open:
            self._refuse(self._writer[offsets], program, "reads what program {} wrote")
            mine = (self._reader[offsets] == NOBODY) | (self._reader[offsets] == program)
            self._reader[offsets] = np.where(mine, program, SEVERAL)

    def write(self, offsets: Array, program: int) -> None:
        """Note a store.

        Raises:
            RaceError: another program read one of the addresses.
        """
        if self._open:
            self._refuse(self._reader[offsets], program, "writes what program {} read")
            self._writer[offsets] = program

    def _refuse(self, others: Array, program: int, what: str) -> None:
        untrusted = others[(others != NOBODY) & (others != program)]
        if untrusted.size:
            other = "another" if untrusted[0] == SEVERAL else int(untrusted[0])
            raise RaceError(
                f"race: program {program} {what.format(other)} in the same launch; programs run in no order"
            )


class OutOfBoundsError(CandidateError):
    """A lane that its mask lets through points outside of every tensor."""

    kind: FaultKind = "out_of_bounds"


class Span(NamedTuple):
    """One storage, in bytes, under the name of the argument that brought it."""

    start: int
    end: int
    name: str


class Regions:
    """The storages of one launch."""

    def __init__(self, arguments: Mapping[str, object]) -> None:
        self._spans = sorted(span for name, value in arguments.items() for span in _spans(name, value))
        self._starts = np.array([s.start for s in self._spans], dtype=np.uint64)
        self._ends = np.array([s.end for s in self._spans], dtype=np.uint64)

    def outside(self, pointers: Array, item_bytes: int) -> Array:
        """The addresses that no storage holds completely."""
        if not self._spans:
            return pointers
        index = np.searchsorted(self._starts, pointers, side="right") - 1
        held = (index >= 0) & (pointers + np.uint64(item_bytes) <= self._ends[np.maximum(index, 0)])
        return np.asarray(pointers[~held])

    @property
    def total_bytes(self) -> int:
        """Bytes of all storages."""
        return int((self._ends - self._starts).sum())

    def offsets(self, pointers: Array) -> Array:
        """Addresses that are inside, as offsets into the storages laid end to end."""
        if not self._spans:
            return pointers.astype(np.int64)
        index = np.searchsorted(self._starts, pointers, side="right") - 1
        before = np.concatenate([[0], np.cumsum(self._ends - self._starts)[:-1]]).astype(np.uint64)
        return np.asarray((pointers - self._starts[index] + before[index]).astype(np.int64))

    def describe(self, address: int) -> str:
        """Where an address outside of every storage is, relative to the nearest one."""
        if not self._spans:
            return "the kernel was given no tensor"
        span = min(self._spans, key=lambda s: min(abs(address - s.start), abs(address - s.end)))
        if address < span.start:
            return f"the first is {span.start - address} bytes before the start of {span.name!r}"
        return f"the first is {address - span.end} bytes past the end of {span.name!r}"


class Guard:
    """Checks the lanes of the launch that is running."""

    def __init__(self) -> None:
        self._regions: Regions | None = None
        self._ledger = AccessLog(0)

    def enter(self, arguments: Mapping[str, object]) -> None:
        """A launch begins."""
        self._regions = Regions(arguments)
        self._ledger = AccessLog(self._regions.total_bytes)

    def release(self) -> None:
        """Stop checking this launch: it makes pointers that no argument explains."""
        self._regions = None

    def load(self, pointers: Handle, mask: Array) -> None:
        """Look at the lanes of a load that `mask` lets through.

        Raises:
            OutOfBoundsError: at least one of them is outside.
            RaceError: another program of this launch wrote there.
        """
        if self._regions is not None:
            self._ledger.read(self._offsets("load", pointers, mask, self._regions), _program())

    def store(self, pointers: Handle, mask: Array) -> None:
        """Look at the lanes of a store that `mask` lets through.

        Raises:
            OutOfBoundsError: at least one of them is outside.
            RaceError: another program of this launch read there.
        """
        if self._regions is not None:
            self._ledger.write(self._offsets("store", pointers, mask, self._regions), _program())

    def atomic(self, pointers: Handle, mask: Array) -> None:
        """Look at the lanes of an atomic; from here on programs may have an order of their own.

        Raises:
            OutOfBoundsError: at least one of them is outside.
        """
        if self._regions is not None:
            self._offsets("atomic", pointers, mask, self._regions)
            self._ledger.close()

    def _offsets(self, what: str, pointers: Handle, mask: Array, regions: Regions) -> Array:
        live = pointers.data.astype(np.uint64)[np.broadcast_to(mask, pointers.data.shape)]
        bad = regions.outside(live, max(pointers.get_element_ty().primitive_bitwidth // 8, 1))
        if bad.size:
            program = interpreter.interpreter_builder.grid_idx
            raise OutOfBoundsError(
                f"{what} out of bounds: {bad.size} of {live.size} lanes of program {program}; "
                f"{regions.describe(int(bad[0]))}"
            )
        return regions.offsets(live)


def _program() -> int:
    """The running program's number in its grid."""
    builder = interpreter.interpreter_builder
    (x, y, z), (width, height, _) = builder.grid_idx, builder.grid_dim
    return int(x + width * (y + height * z))


def tensors_of(value: object) -> Iterator[torch.Tensor]:
    """A launch's argument itself, or the tensors of a tuple, a descriptor or a wrapper.

    A tensor's own attributes count for nothing: whoever calls can set them.
    """
    if isinstance(value, torch.Tensor):
        yield value
    elif isinstance(value, tuple):
        for part in value:
            yield from tensors_of(part)
    elif isinstance(value, TensorDescriptor | TensorWrapper):
        yield from tensors_of(value.base)


def _spans(name: str, value: object) -> Iterator[Span]:
    for tensor in tensors_of(value):
        storage = tensor.untyped_storage()
        yield Span(storage.data_ptr(), storage.data_ptr() + storage.nbytes(), name)
