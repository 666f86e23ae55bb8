"""A process that computes results, a candidate's or the reference's: what a clock asks of it, and what it left in memory.

Each kind says how calls are put to it, and is composed with the memory that its results lie in. An address comes from a
process that may lie: it is only read, as a shape is only compared.
"""

import ctypes
import itertools
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from typing import Protocol

import torch

from kernelwright.errors import RefereeError
from kernelwright.evaluate.sandbox import kernel
from kernelwright.evaluate.sandbox.child import Child, Response
from kernelwright.evaluate.sandbox.handover import WatchedHandover
from kernelwright.evaluate.sandbox.messages.calls import Again, Found, RanInTurn, RunInTurn
from kernelwright.evaluate.sandbox.process import USUAL, Process, ProcessOptions, TamperedError
from kernelwright.records.tensor import TensorSpec

GUARD = 4096
"""Bytes of the zone before and behind a result that nobody may write to."""
GUARD_BYTE = 0xA5
POISON_BYTE = 0xFF
"""What memory for results is filled with: a NaN in every floating dtype."""
MOST_CALLS = 48
"""Calls that one sample may hold."""


@dataclass(frozen=True)
class TimedRun:
    """Results of one sample, one list a call, and both clocks."""

    results: tuple[tuple[Found, ...], ...]
    outside_ns: int
    inside_ns: int
    cpu_ns: int = 0
    """Processor time of all its threads for this sample, from the kernel."""
    each_ns: tuple[int, ...] = ()
    """Time of each call on the device, where every call is timed by itself."""
    queued_ns: int = 0
    """Longest that the child says it took to put one call on the device's queue."""
    exported_ns: int = 0
    """Time outside for handing over the results, where that is a question of its own."""
    beside_ns: int = 0
    """Time outside in which a trusted side was given the parameters of each call."""
    given_ns: int = 0
    """Time outside in which it was given the parameters of its calls, where that is a question of its own; of a trusted side,
    what such a question would have taken it."""

    @property
    def hidden_ns(self) -> int:
        """Time that passed outside and that the child's own clock does not admit to."""
        return self.outside_ns - self.inside_ns

    def must_be_disjoint(self) -> None:
        """Every result has memory of its own, as a new result has in eager.

        Raises:
            TamperedError: two of them share some.
        """
        spans = sorted((f.address, f.address + f.nbytes) for call in self.results for f in call if f.nbytes)
        for (_, end), (start, _) in itertools.pairwise(spans):
            if start < end:
                raise TamperedError(f"two results of one sample share the memory at {start:#x}")


def of_all(results: tuple[tuple[Found, ...], ...], calls: int) -> tuple[tuple[Found, ...], ...]:
    """The results, which must be those of so many calls.

    Raises:
        TamperedError: they are not.
    """
    if len(results) != calls:
        raise TamperedError(f"malformed answer: {calls} calls were asked for and {len(results)} answered")
    return results


class ResultMemory(Protocol):
    """Where the results of a process lie."""

    def read(self, found: Found) -> torch.Tensor:
        """A result.

        Raises:
            TamperedError: there is no such memory.
        """
        ...

    def read_parts(self, found: Found, parts: Sequence[tuple[int, int]]) -> torch.Tensor:
        """A copy of some elements, stretches of (first, count), one behind the other: flat.

        Raises:
            TamperedError: there is no such memory.
        """
        ...

    def guards_intact(self, found: Found) -> bool:
        """Whether nothing was written directly before or behind a result; True where there are no guards."""
        ...

    def has_room(self, outputs: Sequence[TensorSpec], calls: int) -> bool:
        """Whether the results of so many calls can be kept at once."""
        ...

    def close(self) -> None:
        """Free what the grader holds of it."""
        ...


class ChildMemory:
    """A frozen child's own memory, read from outside."""

    def __init__(self, pid: int) -> None:
        self._pid = pid

    def read(self, found: Found) -> torch.Tensor:
        """See `ResultMemory.read`: a copy."""
        return self.read_parts(found, ((0, found.numel),)).view(found.shape)

    def read_parts(self, found: Found, parts: Sequence[tuple[int, int]]) -> torch.Tensor:
        """See `ResultMemory.read_parts`."""
        result = torch.empty(sum(count for _, count in parts), dtype=getattr(torch, found.dtype))
        item = found.item_bytes
        self._copy([(found.address + first * item, count * item) for first, count in parts], result.data_ptr())
        return result

    def guards_intact(self, found: Found) -> bool:
        """See `ResultMemory.guards_intact`."""
        zones = (ctypes.c_ubyte * (2 * GUARD))()
        self._copy([(found.address - GUARD, GUARD), (found.address + found.nbytes, GUARD)], ctypes.addressof(zones))
        return bytes(zones) == bytes([GUARD_BYTE]) * (2 * GUARD)

    def has_room(self, outputs: Sequence[TensorSpec], calls: int) -> bool:
        """See `ResultMemory.has_room`: for two calls in any case."""
        return True

    def close(self) -> None:
        """It ends with the child."""

    def _copy(self, pieces: Sequence[tuple[int, int]], into: int) -> None:
        try:
            kernel.read_process(self._pid, pieces, into)
        except OSError as error:
            size = sum(length for _, length in pieces)
            raise TamperedError(f"no result of {size} bytes from {pieces[0][0]:#x} on: {error}") from None


class ComputeProcess(Process, ABC):
    """A process with results to read; what only some kinds can do, the others do nothing for."""

    guarded_in_time = False
    """Whether there are guards around results that are timed, and time to look at them."""
    calls_at_once: int | None = None
    """Calls that one sample may hold at most; None: as many as there is room for."""

    def __init__(
        self, child: Child, limit_s: float, options: ProcessOptions = USUAL, memory: ResultMemory | None = None
    ) -> None:
        super().__init__(child, limit_s, options)
        self.memory = memory or ChildMemory(child.pid)
        self.calls = 0
        """How often it has been asked to compute."""
        self._start_ns = 0

    @abstractmethod
    def run(self, calls: Sequence[Sequence[int]], checked: bool, variant: str = "") -> TimedRun:
        """Have it compute once for every list of byte offsets; `checked` says that the results will be looked at.

        Raises:
            as `ask`.
        """

    def run_in_turn(self, calls: Sequence[Sequence[int]], variant: str = "", idle: bool = False) -> TimedRun:
        """As `run`, with the calls handed over one by one: a call is told only when the one before is done.

        Nothing stands still in between: all of it is one stretch of the clock. `idle` has nothing computed.

        Raises:
            as `ask`.
        """
        raise RefereeError(f"the side {self.child.side!r} takes no calls one by one")

    def run_waiting(self, calls: Sequence[Sequence[int]], variant: str = "") -> TimedRun:
        """As `run`, with every result waited for before the next call: on a CPU there is no other way."""
        return self.run(calls, checked=False, variant=variant)

    def ready(self, calls: int) -> None:
        """Prepare for this many calls before there are inputs: a side whose results it allocates itself does nothing."""

    def take_parameters(self, offsets: Sequence[int]) -> None:
        """Make it ready for calls with the parameters at these offsets, where it does not read them there."""

    def take_ahead(self, calls: Sequence[Sequence[int]]) -> None:
        """Take the parameters of these calls, whose inputs are not there yet, where that is a question of its own."""

    def compute(self, calls: Sequence[Sequence[int]], variant: str, limit_s: float) -> None:
        """Have a reference compute a variant for the first time, which may take as long as its compiler does.

        Raises:
            as `ask`.
        """
        raise RefereeError(f"the side {self.child.side!r} computes no {variant!r}")

    def open_results(self, size: int, narrow: bool) -> tuple[int, int]:
        """Give a reference on a device so much memory for its results: a descriptor for the child, and bytes.

        `narrow`: fp64 results are too large to be kept as they are.

        Raises:
            torch.OutOfMemoryError: the device has no room for it.
        """
        raise RefereeError(f"the side {self.child.side!r} has no outbox")

    def overhead_us(self, offsets: Sequence[int]) -> float:
        """What its clock says of a kernel that does nothing; a CPU's clock is outside."""
        return 0.0

    def copying_ns(self, calls: Sequence[Sequence[int]]) -> Mapping[Again, int]:
        """What copying the parameters of these calls takes a reference, by how a candidate's calls are made again."""
        return {}

    def spin_before_calls(self, busy_ns: int) -> None:
        """Keep its device busy so long before a timed call that host work does not show; a CPU has none."""

    def watching(self) -> AbstractContextManager[None]:
        """Meanwhile its device's clock looks for work on other streams; for all sides of a benchmark alike."""
        return nullcontext()

    def start_is_over(self) -> None:
        """Processor time until now was for imports and compilers."""
        self._start_ns = self.child.cpu_ns

    @property
    def computing_ns(self) -> int:
        """Processor time that it has used since its start was over."""
        return self.child.cpu_ns - self._start_ns

    def has_room(self, outputs: Sequence[TensorSpec], calls: int) -> bool:
        """See `ResultMemory.has_room`."""
        return self.memory.has_room(outputs, calls)

    def read(self, found: Found) -> torch.Tensor:
        """See `ResultMemory.read`."""
        return self.memory.read(found)

    def read_parts(self, found: Found, parts: Sequence[tuple[int, int]]) -> torch.Tensor:
        """See `ResultMemory.read_parts`."""
        return self.memory.read_parts(found, parts)

    def guards_intact(self, found: Found) -> bool:
        """See `ResultMemory.guards_intact`."""
        return self.memory.guards_intact(found)

    def close(self) -> None:
        """End the child, and free the memory of its results."""
        super().close()
        self.memory.close()

    def hand_over(self, turns: WatchedHandover) -> tuple[RanInTurn, Response[RanInTurn]]:
        """Hand calls over to a side whose word is not taken: a result must be there when its call is said to be done.

        Raises:
            TamperedError: one was not.
            as `ask`.
        """
        self.calls += turns.count
        said, response = self.put(RunInTurn(count=turns.count), meanwhile=turns.hand_over)
        try:
            late = turns.changed()
        except ValueError as error:
            raise TamperedError(str(error)) from None
        if late or turns.done < turns.count:
            raise TamperedError(f"{late} of {turns.done} calls were said to be done before they were")
        return said, response
