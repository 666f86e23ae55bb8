"""Bounds of memory in Triton's interpreter: every lane of a load, store or atomic must hit a tensor.

A lane is in bounds when all its bytes lie in the storage of one of the tensors that the kernel was
given. Not covered: an overrun that stays inside the same storage, and kernels that make pointers from
integers, for which nothing is checked.
"""

from collections.abc import Callable, Iterator, Mapping
from typing import Any, NamedTuple

import numpy as np
from triton.runtime import interpreter

from kernelwright.evaluate.triton.bfloat16 import Array
from kernelwright.evaluate.triton.fault import CandidateError, FaultKind


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

    def __init__(self, arguments: Mapping[str, Any]) -> None:
        self._spans = sorted(span for name, value in arguments.items() for span in _spans(name, value))
        self._starts = np.array([s.start for s in self._spans], dtype=np.uint64)
        self._ends = np.array([s.end for s in self._spans], dtype=np.uint64)

    def outside(self, pointers: Array, item_bytes: int) -> Array:
        """The addresses that no storage holds completely."""
        if not self._spans:
            return pointers
        index = np.searchsorted(self._starts, pointers, side="right") - 1
        held = (index >= 0) & (pointers + np.uint64(item_bytes) <= self._ends[np.maximum(index, 0)])
        return pointers[~held]

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

    def enter(self, arguments: Mapping[str, Any]) -> None:
        """A launch begins."""
        self._regions = Regions(arguments)

    def release(self) -> None:
        """Stop checking this launch: it makes pointers that no argument explains."""
        self._regions = None

    def check(self, what: str, pointers: Any, mask: Any) -> None:
        """Look at the lanes that `mask` lets through.

        Raises:
            OutOfBoundsError: at least one of them is outside.
        """
        if self._regions is None:
            return
        flags = np.asarray(mask if isinstance(mask, np.ndarray) else mask.data, dtype=bool)
        live = pointers.data.astype(np.uint64)[np.broadcast_to(flags, pointers.data.shape)]
        bad = self._regions.outside(live, max(pointers.get_element_ty().primitive_bitwidth // 8, 1))
        if bad.size:
            program = interpreter.interpreter_builder.grid_idx
            raise OutOfBoundsError(
                f"{what} out of bounds: {bad.size} of {live.size} lanes of program {program}; "
                f"{self._regions.describe(int(bad[0]))}"
            )


def install() -> None:
    """Patch Triton's interpreter in this process, after everything else that touches memory."""
    guard = Guard()
    builder = interpreter.InterpreterBuilder
    builder.create_masked_load = _checked(guard, "load", builder.create_masked_load, mask=1)
    builder.create_masked_store = _checked(guard, "store", builder.create_masked_store, mask=2)
    builder.create_atomic_rmw = _checked_atomic(guard, builder.create_atomic_rmw)
    builder.create_int_to_ptr = _releasing(guard, builder.create_int_to_ptr)
    execute = interpreter.GridExecutor.__call__

    def call(self: Any, *arguments: Any, **named: Any) -> Any:
        guard.enter({**dict(zip(self.arg_names, arguments, strict=False)), **named})
        return execute(self, *arguments, **named)

    interpreter.GridExecutor.__call__ = call


def _checked(guard: Guard, what: str, method: Callable[..., Any], mask: int) -> Callable[..., Any]:
    def access(self: Any, pointers: Any, *rest: Any, **named: Any) -> Any:
        guard.check(what, pointers, named["mask"] if "mask" in named else rest[mask - 1])
        return method(self, pointers, *rest, **named)

    return access


def _checked_atomic(guard: Guard, method: Callable[..., Any]) -> Callable[..., Any]:
    def access(self: Any, op: Any, pointers: Any, value: Any, mask: Any, *rest: Any) -> Any:
        guard.check("atomic", pointers, mask)
        return method(self, op, pointers, value, mask, *rest)

    return access


def _releasing(guard: Guard, method: Callable[..., Any]) -> Callable[..., Any]:
    def convert(self: Any, *arguments: Any) -> Any:
        guard.release()
        return method(self, *arguments)

    return convert


def _spans(name: str, value: Any) -> Iterator[Span]:
    if isinstance(value, tuple):
        for part in value:
            yield from _spans(name, part)
        return
    tensor = getattr(value, "base", value)  # a tensor descriptor or a wrapper has the tensor as its base
    if hasattr(tensor, "untyped_storage"):
        storage = tensor.untyped_storage()
        yield Span(storage.data_ptr(), storage.data_ptr() + storage.nbytes(), name)
