"""Memory in Triton's interpreter: every lane of a load, store or atomic must hit a tensor, in no race.

A lane is in bounds when all its bytes lie in the storage of one of the tensors that the kernel was
given. Not covered: an overrun that stays inside the same storage, and kernels that make pointers from
integers, for which nothing is checked.

`races.py` says what a race is. Lanes of one store are another: two that store different values at one address. `threads.py`
has a third: what a program reads of its own stores without a barrier.
"""

from collections.abc import Callable, Iterator, Mapping
from typing import NamedTuple

import numpy as np
import torch
from torch._subclasses import FakeTensor
from triton.runtime import interpreter
from triton.runtime.jit import TensorWrapper
from triton.tools.tensor_descriptor import TensorDescriptor

from kernelwright.evaluate.triton.device import offset_bytes
from kernelwright.evaluate.triton.fault import CandidateError, FaultKind
from kernelwright.evaluate.triton.races import AccessLog, Conflict
from kernelwright.evaluate.triton.threads import OwnStores
from kernelwright.evaluate.triton.untyped import Array, Handle

LARGEST = 16 << 20
"""Launches on more elements than this are not checked for races."""
UNORDERED = "programs run in no order, and no atomic makes one here"
IN_WORDS = {
    ("load", "stored"): "reads what {} wrote",
    ("load", "counted"): "reads what {} changed by an atomic",
    ("store", "read"): "writes what {} read",
    ("store", "stored"): "writes another value than {} wrote",
    ("store", "counted"): "writes what {} changed by an atomic",
    ("atomic", "read"): "changes by an atomic what {} read",
    ("atomic", "stored"): "has an atomic on what {} wrote",
    ("atomic", "counted"): "has an atomic that orders its own threads alone on what {} changed",
}


class RaceError(CandidateError):
    """The result depends on the order in which programs run."""

    kind: FaultKind = "race"


class OutOfBoundsError(CandidateError):
    """A lane that its mask lets through points outside of every tensor."""

    kind: FaultKind = "out_of_bounds"


class Span(NamedTuple):
    """One storage, in bytes, under the name of the argument that brought it."""

    start: int
    end: int
    name: str
    shape: tuple[int, ...]
    """Of the tensor, if it is the whole storage in row-major order; else empty."""


class Regions:
    """The storages of one launch."""

    def __init__(self, arguments: Mapping[str, object]) -> None:
        found = [span for name, value in arguments.items() for span in _spans(name, value)]
        self._spans = sorted({span.start: span for span in reversed(found)}.values())
        self._starts = np.array([s.start for s in self._spans], dtype=np.uint64)
        self._ends = np.array([s.end for s in self._spans], dtype=np.uint64)
        lengths = self._ends - self._starts
        self._before = (np.cumsum(lengths) - lengths).astype(np.uint64)
        self.total_bytes = int(lengths.sum())

    def place(self, pointers: Array, item_bytes: int) -> tuple[Array, Array]:
        """Addresses as offsets into the storages laid end to end, and those that no storage holds completely."""
        if not self._spans or not pointers.size:
            return np.zeros(0, np.int64), pointers
        first, last = (int(i) for i in np.searchsorted(self._starts, (pointers.min(), pointers.max()), "right") - 1)
        if first == last >= 0 and int(pointers.max()) + item_bytes <= self._spans[first].end:
            return (pointers - (self._starts[first] - self._before[first])).astype(np.int64), pointers[:0]
        index = np.searchsorted(self._starts, pointers, side="right") - 1
        held = (index >= 0) & (pointers + np.uint64(item_bytes) <= self._ends[np.maximum(index, 0)])
        return (pointers - self._starts[index] + self._before[index]).astype(np.int64), np.asarray(pointers[~held])

    def describe(self, address: int) -> str:
        """Where an address outside of every storage is, relative to the nearest one."""
        if not self._spans:
            return "the kernel was given no tensor"
        span = min(self._spans, key=lambda s: min(abs(address - s.start), abs(address - s.end)))
        if address < span.start:
            wraps = "; an offset of 32 bits has wrapped" if span.end - span.start > 1 << 31 else ""
            return f"the first is {span.start - address} bytes before the start of {span.name!r}{wraps}"
        return f"the first is {address - span.end} bytes past the end of {span.name!r}"

    def span(self, address: int) -> Span:
        """The storage of an address that is inside."""
        return self._spans[int(np.searchsorted(self._starts, np.uint64(address), side="right")) - 1]

    def element(self, address: int, item_bytes: int) -> str:
        """Which element of which tensor lies at an address."""
        span = self.span(address)
        flat = (address - span.start) // item_bytes
        whole = len(span.shape) > 1 and int(np.prod(span.shape)) * item_bytes == span.end - span.start
        place = [int(i) for i in np.unravel_index(flat, span.shape)] if whole else flat
        return f"element {place} of {span.name!r}"


class Access(NamedTuple):
    """The live lanes of one load, store or atomic."""

    what: str
    live: Array
    """Which lanes the mask lets through."""
    pointers: Array
    """Theirs, in order."""
    item_bytes: int
    offsets: Array
    """Theirs, in elements of the smallest type of the launch."""
    span: Span | None
    """The storage of the first of them."""


class Guard:
    """Checks the lanes of the launch that is running."""

    def __init__(self) -> None:
        self._regions: Regions | None = None
        self._log: AccessLog | None = None
        self._own = OwnStores(0)
        self._unit = 1

    def enter(self, arguments: Mapping[str, object], programs: int) -> None:
        """A launch of so many programs begins."""
        self._regions = Regions(arguments)
        sizes = [t.element_size() for value in arguments.values() for t in tensors_of(value)]
        self._unit = min(sizes, default=1)
        elements = self._regions.total_bytes // self._unit + 1
        self._log = AccessLog(elements, programs) if elements <= LARGEST else None
        self._own = OwnStores(elements if elements <= LARGEST else 0)

    def release(self) -> None:
        """Stop checking this launch: it makes pointers that no argument explains."""
        self._regions = None

    def ended(self, program: int) -> None:
        """A program has ended."""
        self._own.waited(program)
        if self._log is not None:
            self._log.ended(program)

    def waited(self) -> None:
        """The threads of the running program have waited for each other, or may have."""
        self._own.waited(running())

    def load(self, pointers: Handle, mask: Array, volatile: bool = False) -> None:
        """Look at the lanes of a load that `mask` lets through. A volatile one is atomic, and orders nothing.

        Raises:
            OutOfBoundsError: at least one of them is outside.
            RaceError: another program of this launch wrote there, or another thread of this one, and nothing orders the two.
        """
        access = self.reach("load", pointers, mask)
        if access is None or self._log is None:
            return
        program = running()
        read = self._log.atomic(access.offsets, program, False) if volatile else self._log.read(access.offsets, program)
        self._refuse(access, read)
        if (at := self._own.too_early(access.offsets, access.live, program)) is not None:
            self._raise(access, at, "reads what another of its own threads wrote", "no barrier stands between the two")

    def store(self, pointers: Handle, mask: Array, present: Callable[[], Array], value: Array) -> Access | None:
        """Look at the lanes of a store that `mask` lets through.

        Args:
            pointers: of all lanes.
            mask: which of them it lets through.
            present: what lies there, as the bits that `value` has.
            value: what will.

        Raises:
            OutOfBoundsError: at least one of them is outside.
            RaceError: another program of this launch read there or wrote something else, and nothing orders the two.
        """
        access = self.reach("store", pointers, mask)
        if access is None or self._log is None:
            return None

        def differs() -> Array:
            return unlike(present(), value)[access.live]

        self._refuse(access, self._log.write(access.offsets, running(), differs))
        self._own.store(access.offsets, access.live, running())
        return access

    def stored(self, access: Access | None, present: Callable[[], Array], value: Array) -> None:
        """Look at what a store has left.

        Raises:
            RaceError: two of its lanes stored different values at one address.
        """
        if access is None or access.pointers.size < 2 or _dense(access):
            return
        lost = unlike(present(), value)[access.live]
        if lost.any():
            self._raise(access, int(np.argmax(lost)), "stores two different values, from two lanes of one store,")

    def atomic(self, access: Access | None, changes: bool, acquires: bool, releases: bool, alone: bool) -> None:
        """Look at the lanes of an atomic; `alone` if it is atomic among the threads of its own program only.

        Raises:
            RaceError: another program loaded or stored there, and nothing orders the two.
        """
        self.waited()
        if access is None or self._log is None:
            return
        log, program = self._log, running()
        found = log.atomic(access.offsets, program, changes, acquires and not alone, releases and not alone)
        if alone:
            found = log.read(access.offsets, program) or log.write(
                access.offsets, program, lambda: np.ones(access.offsets.shape, dtype=bool)
            )
        self._refuse(access, found)

    def reach(self, what: str, pointers: Handle, mask: Array) -> Access | None:
        """The lanes that are let through; None where nothing is known of this launch's pointers.

        Raises:
            OutOfBoundsError: at least one of them is outside.
        """
        if self._regions is None:
            return None
        every = pointers.data.astype(np.uint64, copy=False)
        live = np.broadcast_to(mask, every.shape)
        reached, item = every[live], max(pointers.get_element_ty().primitive_bitwidth // 8, 1)
        offsets, bad = self._regions.place(reached, item)
        if bad.size:
            raise OutOfBoundsError(
                f"{what} out of bounds: {bad.size} of {reached.size} lanes of program "
                f"{interpreter.interpreter_builder.grid_idx}; {self._regions.describe(int(bad[0]))}"
            )
        if item < self._unit and self._log is not None:
            self._log.refine(self._unit)
            self._own.refine(self._unit)
            self._unit = 1
        if self._unit > 1:
            offsets //= self._unit
        span = self._regions.span(int(reached[0])) if reached.size else None
        return Access(what, live, reached, item, offsets, span)

    def _refuse(self, access: Access, found: Conflict | None) -> None:
        if found is not None:
            other = "another program" if found.other < 0 else f"program {found.other}"
            self._raise(access, found.at, IN_WORDS[access.what, found.verb].format(other) + " in the same launch")

    def _raise(self, access: Access, at: int, doing: str, why: str = UNORDERED) -> None:
        assert self._regions is not None
        lane = np.flatnonzero(access.live)[at]
        element = self._regions.element(int(access.pointers[at]), access.item_bytes)
        raise RaceError(f"race: program {running()} {doing} ({access.what}, lane {lane}: {element}); {why}")


def running() -> int:
    """The running program's number in its grid."""
    builder = interpreter.interpreter_builder
    (x, y, z), (width, height, _) = builder.grid_idx, builder.grid_dim
    return int(x + width * (y + height * z))


def unlike(present: Array, value: Array) -> Array:
    """Where the bits differ."""
    value = np.ascontiguousarray(np.broadcast_to(value, present.shape))
    bits = np.dtype(f"u{value.dtype.itemsize}")
    return np.asarray(np.ascontiguousarray(present).view(bits) != value.view(bits))


def _dense(access: Access) -> bool:
    """Whether the lanes follow one another, so that no two can meet."""
    steps = np.diff(access.pointers.astype(np.int64))
    return bool((steps > 0).all())


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
        shape = tuple(tensor.shape) if tensor.is_contiguous() else ()
        fake = isinstance(tensor, FakeTensor)
        start = tensor.data_ptr() - offset_bytes(tensor) if fake else storage.data_ptr()
        yield Span(start, start + storage.nbytes(), name, shape)
