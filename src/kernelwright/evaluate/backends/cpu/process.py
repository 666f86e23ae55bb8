"""Processes that compute on this machine's cores: the reference, and a candidate that is a library.

A library's results lie in a pool of its process's own memory, where the grader says. Before every question the places are
chosen again, filled with poison and surrounded by guards that the grader writes while the process is stopped, whether or
not anybody will check. So a call cannot tell a check from a timing, and nothing of an earlier result is left. A result
never begins where one of its call's inputs begins in its page, so no page of an input can be mapped in its place. After
the call all of its pages must be the process's own.
"""

import os
import secrets
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass

import torch

from kernelwright.evaluate.sandbox import kernel
from kernelwright.evaluate.sandbox.arena import PAGE
from kernelwright.evaluate.sandbox.child import Child
from kernelwright.evaluate.sandbox.compute_process import (
    GUARD,
    GUARD_BYTE,
    MOST_CALLS,
    POISON_BYTE,
    ChildMemory,
    ComputeProcess,
    TimedRun,
    of_all,
)
from kernelwright.evaluate.sandbox.handover import Handover, WatchedHandover
from kernelwright.evaluate.sandbox.messages.calls import Found, Run, RunInTurn
from kernelwright.evaluate.sandbox.messages.candidates import LoadLibrary, RunPlaced
from kernelwright.evaluate.sandbox.process import USUAL, ProcessOptions, TamperedError
from kernelwright.evaluate.session.memory import LINE
from kernelwright.records.tensor import TensorSpec

POOL = 1 << 30
"""Bytes for the results of one sample, unless two calls need more: an audit keeps two results at once."""
THERE, OWN = (1 << 63 | 1 << 62) - (1 << 64), 1 << 61
"""Bits of a page's entry: in memory or swapped; a file's or shared (Linux, admin-guide/mm/pagemap)."""


class HostReference(ComputeProcess):
    """A reference, whose results lie where its process puts them."""

    def run(self, calls: Sequence[Sequence[int]], checked: bool, variant: str = "") -> TimedRun:
        """See `ComputeProcess.run`."""
        self.calls += len(calls)
        ran, response = self.put(Run(calls=calls, variant=variant))
        outside_ns, inside_ns = max(1, response.outside_ns - self._believed(ran.beside_ns)), max(1, ran.ns)
        # Waking and answering are part of any question.
        given_ns = self._believed(ran.taken_ns + outside_ns - inside_ns)
        return TimedRun(of_all(ran.results, len(calls)), outside_ns, inside_ns, response.cpu_ns, given_ns=given_ns)

    def compute(self, calls: Sequence[Sequence[int]], variant: str, limit_s: float) -> None:
        """See `ComputeProcess.compute`."""
        self.ask(Run(calls=calls, variant=variant), limit_s)

    def run_in_turn(self, calls: Sequence[Sequence[int]], variant: str = "", idle: bool = False) -> TimedRun:
        """See `ComputeProcess.run_in_turn`."""
        self.calls += len(calls)
        turns = Handover(self.child.pid, calls)
        command = RunInTurn(count=len(calls), variant=variant, idle=idle)
        ran, response = self.put(command, meanwhile=turns.hand_over)
        results = () if idle else of_all(ran.results, len(calls))
        return TimedRun(results, max(1, response.outside_ns - self._believed(ran.beside_ns)), 1, response.cpu_ns)


class ResultPool(ChildMemory):
    """A pool in the child, in which the grader chooses the places of results."""

    def __init__(self, pid: int, outputs: Sequence[TensorSpec], own_memory: bool) -> None:
        super().__init__(pid)
        watch_pages(pid)
        self._outputs, self._own_memory = tuple(outputs), own_memory
        self._start, self._poisoned = 0, 0

    @property
    def nbytes(self) -> int:
        """How large the pool must be."""
        return max(2, most_calls(self._outputs)) * _slots(self._outputs) + PAGE

    def lies_at(self, address: int) -> None:
        """Where it begins, as the child says."""
        self._start = -(-address // PAGE) * PAGE

    def poison(self, calls: int) -> None:
        """Fill the places of this many calls' results.

        Raises:
            TamperedError: the pool is not there any more.
        """
        self._fill([(self._start, calls * _slots(self._outputs), POISON_BYTE)])
        self._poisoned = calls

    def place(self, calls: Sequence[Sequence[int]]) -> tuple[tuple[Found, ...], ...]:
        """Where the results of these calls will lie, poisoned and guarded.

        Raises:
            TamperedError: the pool is not there any more.
        """
        if self._poisoned < len(calls):
            self.poison(len(calls))
        self._poisoned = 0
        slots = secrets.SystemRandom().sample(range(len(calls)), len(calls))
        results = tuple(self._results(slot, offsets) for slot, offsets in zip(slots, calls, strict=True))
        zones = [z for call in results for f in call for z in (f.address - GUARD, f.address + f.nbytes)]
        self._fill([(zone, GUARD, GUARD_BYTE) for zone in zones])
        return results

    def must_be_own(self, results: Sequence[Sequence[Found]]) -> None:
        """The results' pages must be there, and be memory of the process's own, not mapped from anywhere.

        Raises:
            TamperedError: they are not.
        """
        if self._own_memory:
            must_be_own(self._pid, results)

    def _results(self, slot: int, offsets: Sequence[int]) -> tuple[Found, ...]:
        """The places of one call's results: any lines of a page at which no input of the call begins."""
        # The arena and its segments begin at pages in every process.
        taken = {offset % PAGE for offset in offsets}
        free = [start for start in range(0, PAGE, LINE) if start not in taken] or [0]
        start, found = self._start + slot * _slots(self._outputs), []
        for spec in self._outputs:
            shift = secrets.choice(free) if self._own_memory else 0
            found.append(Found(address=start + GUARD + shift, dtype=spec.dtype, shape=spec.shape))
            start += _slot(spec)
        return tuple(found)

    def _fill(self, areas: Sequence[tuple[int, int, int]]) -> None:
        fill(self._pid, areas, "the memory for its results is not as it was")


@dataclass(frozen=True)
class Loading:
    """How a candidate's function is called."""

    entry: str
    threads: int
    workspace_bytes: int = 0
    private: bool = False
    """Its inputs are copies of its own, which it may write to."""


class LibraryProcess(ComputeProcess):
    """A child that calls a function of a shared object; its results lie in a pool.

    `own_memory`: results must lie in pages of their own; only a test of the defence lets others pass.
    """

    guarded_in_time = True

    def __init__(
        self,
        child: Child,
        limit_s: float,
        outputs: Sequence[TensorSpec],
        options: ProcessOptions = USUAL,
        own_memory: bool = True,
    ) -> None:
        self._pool, self._outputs = ResultPool(child.pid, outputs, own_memory), len(outputs)
        super().__init__(child, limit_s, options, self._pool)

    def load(self, arena: tuple[Sequence[int], Sequence[int]], library: int, how: Loading) -> None:
        """Have it map its inputs, open its library and allocate the pool.

        Args:
            arena: starts of the segments, and the one descriptor.
            library: descriptor of the shared object.
            how: it is called.

        Raises:
            as `ask`.
        """
        starts, descriptors = arena
        command = LoadLibrary(
            starts=starts,
            entry=how.entry,
            outputs=self._outputs,
            pool_bytes=self._pool.nbytes,
            workspace_bytes=how.workspace_bytes,
            threads=how.threads,
            private=how.private,
            files=(*descriptors, library),
        )
        self._pool.lies_at(self.ask(command).pool)

    def ready(self, calls: int) -> None:
        """Fill the places of this many calls' results with poison, outside of any clock.

        Raises:
            TamperedError: the pool is not there any more.
        """
        self._pool.poison(calls)

    def run(self, calls: Sequence[Sequence[int]], checked: bool, variant: str = "") -> TimedRun:
        """See `ComputeProcess.run`; poison and guards are there in any case."""
        self.calls += len(calls)
        results = self._pool.place(calls)
        outs = [[found.address for found in call] for call in results]
        ran, response = self.put(RunPlaced.of(calls, outs))
        self._pool.must_be_own(results)
        return TimedRun(results, response.outside_ns, max(1, ran.ns), response.cpu_ns)

    def run_in_turn(self, calls: Sequence[Sequence[int]], variant: str = "", idle: bool = False) -> TimedRun:
        """See `ComputeProcess.run_in_turn`; a result must be there when its call is said to be done.

        Raises:
            TamperedError: one was not.
        """
        results = self._pool.place(calls)
        rows = [[*offsets, *(f.address for f in found)] for offsets, found in zip(calls, results, strict=True)]
        places = [[(f.address, f.numel, f.item_bytes) for f in found] for found in results]
        _, response = self.hand_over(WatchedHandover(self.child.pid, rows, places))
        self._pool.must_be_own(results)
        return TimedRun(results, response.outside_ns, 1, response.cpu_ns)


def fill(pid: int, areas: Sequence[tuple[int, int, int]], lost: str) -> None:
    """Fill a stopped process's memory: address, bytes and value of each area.

    Raises:
        TamperedError: it is not there any more, which `lost` tells.
    """
    try:
        kernel.fill_process(pid, areas)
    except OSError as error:
        raise TamperedError(f"{lost}: {os.strerror(error.errno or 0)}") from None


_TELLING: set[int] = set()
"""Processes of whose pages the kernel has told."""


def watch_pages(pid: int) -> None:
    """Note whether the kernel tells of a new process's pages, before code that is not ours can keep it from that."""
    _TELLING.discard(pid)
    with suppress(OSError):
        kernel.page_entries(pid, [(PAGE, 1)])
        _TELLING.add(pid)


def must_be_own(pid: int, results: Sequence[Sequence[Found]], what: str = "results") -> None:
    """The pages of results, or of what else, must be there, and be a process's own memory, not mapped from anywhere.

    Raises:
        TamperedError: they are not; or the kernel tells no more, although it did.
    """
    areas = [(f.address, f.nbytes) for call in results for f in call if f.nbytes]
    if not areas:
        return
    try:
        entries = kernel.page_entries(pid, areas)
    except OSError as error:
        if pid in _TELLING:
            raise TamperedError(f"the kernel no longer tells whose the pages of its {what} are: {error}") from None
        return  # a host that does not tell
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
