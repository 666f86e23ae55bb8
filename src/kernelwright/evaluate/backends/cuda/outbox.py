"""Device memory in which a child leaves its results: shared with the grader, and mapped by the child."""

from collections.abc import Callable, Sequence
from functools import lru_cache
from math import prod

import torch

from kernelwright.errors import RefereeError
from kernelwright.evaluate.backends.cuda.footprint import OUTBOX, guarded_bytes
from kernelwright.evaluate.sandbox.compute_process import GUARD, GUARD_BYTE, POISON_BYTE
from kernelwright.evaluate.sandbox.cuda_arena import LINE, CudaArena
from kernelwright.evaluate.sandbox.messages.calls import Found
from kernelwright.evaluate.sandbox.process import TamperedError
from kernelwright.records.tensor import TensorSpec


class Outbox:
    """Results that a child copies there itself, after the clock. Implements `ResultMemory`."""

    def __init__(self) -> None:
        self._arena: CudaArena | None = None
        self.nbytes = 0

    def open(self, size: int, relieve: Callable[[], None] | None = None) -> int:
        """Allocate it, if need be in place of other tasks' memory; returns the descriptor for the child.

        Raises:
            torch.OutOfMemoryError: the device has no room for it.
        """
        try:
            self._arena = CudaArena([size])
        except torch.OutOfMemoryError:
            if relieve is None:
                raise
            relieve()
            self._arena = CudaArena([size])
        self.nbytes = self._arena.layout()[0]
        return self._arena.descriptors[0]

    def has_room(self, outputs: Sequence[TensorSpec], calls: int) -> bool:
        """See `ResultMemory.has_room`."""
        return calls * guarded_bytes(outputs) <= self.nbytes

    def read(self, found: Found) -> torch.Tensor:
        """See `ResultMemory.read`: a copy."""
        return self._window(found).clone()

    def read_parts(self, found: Found, parts: Sequence[tuple[int, int]]) -> torch.Tensor:
        """See `ResultMemory.read_parts`: one gathering on the device, however many parts there are."""
        flat = self._window(found).view(-1)
        if len(parts) == 1:
            first, count = parts[0]
            return flat[first : first + count].clone()
        return flat[_indices(tuple(parts), flat.device)]

    def guards_intact(self, found: Found) -> bool:
        """There are none: the child's results are its own allocations."""
        return True

    def close(self) -> None:
        """Free it."""
        if self._arena is not None:
            self._arena.close()
            self._arena = None

    def _window(self, found: Found) -> torch.Tensor:
        """The result where it lies."""
        if found.address < 0 or self._arena is None:
            raise TamperedError(f"a result of shape {found.shape} and dtype {found.dtype} does not fit the outbox")
        if found.address % LINE or found.address + found.nbytes > self.nbytes:
            raise TamperedError(f"a result of {found.nbytes} bytes at {found.address} lies outside the outbox")
        spec = {"name": "", "shape": found.shape, "dtype": found.dtype}
        return self._arena.tensor(0, found.address, TensorSpec.model_validate(spec))


class PlacedOutbox(Outbox):
    """Results that kernels write there at once, where the grader says: poisoned and guarded before every question."""

    def __init__(self, outputs: Sequence[TensorSpec]) -> None:
        super().__init__()
        self.outputs = tuple(outputs)

    def room(self, calls: int, most: int = OUTBOX) -> int:
        """Bytes for one call's results, and for as many more as are affordable, up to `most`."""
        one = sum(_slot(o) for o in self.outputs)
        return max(one, min(most, calls * one))

    def read(self, found: Found) -> torch.Tensor:
        """See `ResultMemory.read`: where it lies, since nothing can write to it until the next question."""
        return self._window(found)

    def guards_intact(self, found: Found) -> bool:
        """See `ResultMemory.guards_intact`."""
        assert self._arena is not None
        before = self._arena.bytes(0, found.address - GUARD, GUARD)
        behind = self._arena.bytes(0, found.address + found.nbytes, GUARD)
        return bool((before == GUARD_BYTE).all() & (behind == GUARD_BYTE).all())

    def starts(self, call: int) -> list[int]:
        """Where each result of a call begins."""
        sizes = [_slot(o) for o in self.outputs]
        return [call * sum(sizes) + sum(sizes[:i]) + GUARD for i in range(len(sizes))]

    def results(self, calls: int) -> tuple[tuple[Found, ...], ...]:
        """Where the results of so many calls lie."""
        return tuple(
            tuple(
                Found(address=start, dtype=o.dtype, shape=o.shape)
                for start, o in zip(self.starts(i), self.outputs, strict=True)
            )
            for i in range(calls)
        )

    def poison(self, calls: int) -> None:
        """Poison and guard the places of so many calls.

        Raises:
            RefereeError: they do not fit.
        """
        assert self._arena is not None
        if calls * sum(_slot(o) for o in self.outputs) > self.nbytes:
            raise RefereeError(f"the results of {calls} calls do not fit an outbox of {self.nbytes} bytes")
        for call in range(calls):
            for start, spec in zip(self.starts(call), self.outputs, strict=True):
                whole_slot = self._arena.bytes(0, start - GUARD, _slot(spec))
                whole_slot.fill_(GUARD_BYTE)
                whole_slot[GUARD : GUARD + spec.nbytes].fill_(POISON_BYTE)
        torch.cuda.synchronize()


@lru_cache(maxsize=32)
def _indices(parts: tuple[tuple[int, int], ...], device: torch.device) -> torch.Tensor:
    """Indices of all elements of these parts, made where they are used; both sides of a round are asked for the same."""
    total = sum(count for _, count in parts)
    firsts, counts = torch.tensor(parts, device=device).unbind(1)
    shifts = torch.repeat_interleave(firsts - counts.cumsum(0) + counts, counts, output_size=total)
    return torch.arange(total, device=device) + shifts


def _slot(spec: TensorSpec) -> int:
    """Bytes of one result with its guards."""
    return -(-(prod(spec.shape) and spec.nbytes) // LINE) * LINE + 2 * GUARD
