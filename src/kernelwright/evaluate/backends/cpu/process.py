"""A `cpp` candidate's process, and where its results lie: in a pool of its own memory, where the grader says.

Before every question the places are chosen again, filled with poison and surrounded by guards that the grader writes
while the process is stopped, whether or not anybody will check. So a call cannot tell a check from a timing, and
nothing of an earlier result is left. A result never begins where one of its call's inputs begins in its page, so no
page of an input can be mapped in its place. After the call all of its pages must be the process's own.
"""

import os
import secrets
from collections.abc import Sequence
from dataclasses import dataclass

import torch

from kernelwright.evaluate.sandbox import kernel
from kernelwright.evaluate.sandbox.arena import PAGE
from kernelwright.evaluate.sandbox.candidate_process import GUARD, GUARD_BYTE, CandidateProcess, Ran, TamperedError
from kernelwright.evaluate.sandbox.child import Child
from kernelwright.evaluate.sandbox.handover import WatchedHandover
from kernelwright.evaluate.sandbox.messages.calls import Found, LoadLibrary, RunPlaced
from kernelwright.evaluate.session.layout import LINE
from kernelwright.evaluate.timing.clock import MOST_CALLS
from kernelwright.evaluate.verify.compare import POISON_BYTE
from kernelwright.records.tensor import TensorSpec

POOL = 1 << 30
"""Bytes for the results of one sample, unless two calls need more: a promotion keeps two results at once."""
THERE, OWN = (1 << 63 | 1 << 62) - (1 << 64), 1 << 61
"""Bits of a page's entry: in memory or swapped; a file's or shared (Linux, admin-guide/mm/pagemap)."""


@dataclass(frozen=True)
class Loading:
    """How a candidate's function is called."""

    entry: str
    threads: int
    workspace_bytes: int = 0
    private: bool = False
    """Its inputs are copies of its own, which it may write to."""


class CppCandidateProcess(CandidateProcess):
    """A child with a pool for results."""

    def __init__(self, child: Child, limit_s: float, outputs: Sequence[TensorSpec]) -> None:
        super().__init__(child, limit_s)
        self._outputs = tuple(outputs)
        self.own_memory = True
        """Whether results must lie in pages of their own; only a test of the defence lets others pass."""
        self._pool, self._ready = 0, 0

    def load(self, arena: tuple[Sequence[int], Sequence[int]], library: int, how: Loading) -> None:
        """Have it map its inputs, open its library and allocate the pool.

        Args:
            arena: starts of the segments, and the one descriptor.
            library: descriptor of the shared object.
            how: it is called.

        Raises:
            as `ask`.
        """
        size = (max(2, most_calls(self._outputs)) * _slots(self._outputs)) + PAGE
        starts, descriptors = arena
        command = LoadLibrary(
            starts=starts,
            entry=how.entry,
            outputs=len(self._outputs),
            pool_bytes=size,
            workspace_bytes=how.workspace_bytes,
            threads=how.threads,
            private=how.private,
            files=(*descriptors, library),
        )
        self._pool = -(-self.ask(command).pool // PAGE) * PAGE

    def ready(self, calls: int) -> None:
        """Fill the places of this many calls' results with poison, outside of any clock.

        Raises:
            TamperedError: the pool is not there any more.
        """
        size = _slots(self._outputs)
        self._fill([(self._pool, calls * size, POISON_BYTE)])
        self._ready = calls

    def run(self, calls: Sequence[Sequence[int]], checked: bool, variant: str = "") -> Ran:
        """As `CandidateProcess.run`; poison and guards are there in any case."""
        self.calls += len(calls)
        results = self.placed(calls)
        outs = [[found.address for found in call] for call in results]
        ran, response = self._put(RunPlaced.of(calls, outs))
        self.must_own(results)
        return Ran(results, response.outside_ns, max(1, ran.ns), response.cpu_ns)

    def run_in_turn(self, calls: Sequence[Sequence[int]], variant: str = "", idle: bool = False) -> Ran:
        """As `CandidateProcess.run_in_turn`; a result must be there when its call is said to be done.

        Raises:
            TamperedError: one was not.
        """
        results = self.placed(calls)
        told = [[*offsets, *(f.address for f in found)] for offsets, found in zip(calls, results, strict=True)]
        places = [[(f.address, f.numel, f.item_bytes) for f in found] for found in results]
        turns = WatchedHandover(self.child.pid, told, places)
        _, response = self._watched(turns)
        self.must_own(results)
        return Ran(results, response.outside_ns, 1, response.cpu_ns)

    def placed(self, calls: Sequence[Sequence[int]]) -> tuple[tuple[Found, ...], ...]:
        """Where the results of these calls will lie, poisoned and guarded.

        Raises:
            TamperedError: the pool is not there any more.
        """
        if self._ready < len(calls):
            self.ready(len(calls))
        self._ready = 0
        slots = secrets.SystemRandom().sample(range(len(calls)), len(calls))
        results = tuple(self._results(slot, offsets) for slot, offsets in zip(slots, calls, strict=True))
        zones = [z for call in results for f in call for z in (f.address - GUARD, f.address + f.nbytes)]
        self._fill([(zone, GUARD, GUARD_BYTE) for zone in zones])
        return results

    def must_own(self, results: Sequence[Sequence[Found]]) -> None:
        """The results' pages must be there, and be memory of the process's own, not mapped from anywhere.

        Raises:
            TamperedError: they are not.
        """
        if self.own_memory:
            must_be_own(self.child.pid, results)

    def _results(self, slot: int, offsets: Sequence[int]) -> tuple[Found, ...]:
        """The places of one call's results: any lines of a page at which no input of the call begins."""
        # The arena and its segments begin at pages in every process.
        taken = {offset % PAGE for offset in offsets}
        free = [start for start in range(0, PAGE, LINE) if start not in taken] or [0]
        start, found = self._pool + slot * _slots(self._outputs), []
        for spec in self._outputs:
            shift = secrets.choice(free) if self.own_memory else 0
            found.append(Found(address=start + GUARD + shift, dtype=spec.dtype, shape=spec.shape))
            start += _slot(spec)
        return tuple(found)

    def _fill(self, areas: Sequence[tuple[int, int, int]]) -> None:
        try:
            kernel.fill_process(self.child.pid, areas)
        except OSError as error:
            raise TamperedError(
                f"the memory for its results is not as it was: {os.strerror(error.errno or 0)}"
            ) from None


def must_be_own(pid: int, results: Sequence[Sequence[Found]], what: str = "results") -> None:
    """The pages of results, or of what else, must be there, and be a process's own memory, not mapped from anywhere.

    Raises:
        TamperedError: they are not.
    """
    areas = [(f.address, f.nbytes) for call in results for f in call if f.nbytes]
    if not areas:
        return
    try:
        entries = kernel.page_entries(pid, areas)
    except OSError:  # a host that does not tell
        return
    pages = sum((address + size - 1) // PAGE - address // PAGE + 1 for address, size in areas)
    if len(entries) != pages * 8:
        raise TamperedError(f"the kernel knows {len(entries) // 8} of {pages} pages of its {what}")
    flags = torch.frombuffer(bytearray(entries), dtype=torch.int64)
    untrusted = int(((flags & THERE == 0) | (flags & OWN != 0)).sum())
    if untrusted:
        raise TamperedError(f"{untrusted} pages of its {what} are not memory of its own")


def most_calls(outputs: Sequence[TensorSpec]) -> int:
    """Calls whose results fit together."""
    return max(1, min(MOST_CALLS, POOL // max(1, _slots(outputs))))


def _slots(outputs: Sequence[TensorSpec]) -> int:
    return sum(_slot(o) for o in outputs)


def _slot(spec: TensorSpec) -> int:
    """Bytes for one result wherever in a page it begins, with its guards."""
    return -(-(spec.nbytes + PAGE) // PAGE) * PAGE + 2 * GUARD
