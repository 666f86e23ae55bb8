"""Children whose results are on the device: the reference and tier-two candidates, and the referee's own launcher.

A tier-two child copies its results into its outbox after the clock. The launcher is told where to put them, in memory
that is poisoned and guarded again before every question.
"""

import os
from collections.abc import Sequence
from contextlib import nullcontext
from functools import lru_cache
from math import prod
from statistics import fmean
from typing import Literal

import torch

from kernelwright.errors import RefereeError
from kernelwright.evaluate.backends.cuda.footprint import OUTBOX, guarded_bytes
from kernelwright.evaluate.languages.artifact import Program
from kernelwright.evaluate.sandbox.candidate_process import (
    GUARD,
    GUARD_BYTE,
    CandidateProcess,
    Ran,
    TamperedError,
    of_all,
)
from kernelwright.evaluate.sandbox.child import Child
from kernelwright.evaluate.sandbox.cuda_arena import LINE, CudaArena
from kernelwright.evaluate.sandbox.messages.base import Command
from kernelwright.evaluate.sandbox.messages.calls import (
    DOUBLES,
    Again,
    ChoosePlan,
    Clocked,
    Clocking,
    Export,
    Found,
    LaunchPlans,
    LoadProgram,
    ProgramLoaded,
    RunOnDevice,
    TakeParameters,
)
from kernelwright.evaluate.timing.clock import MOST_CALLS
from kernelwright.evaluate.verify.compare import POISON_BYTE
from kernelwright.records.tensor import TensorSpec

Clock = Literal["none", "each", "waiting", "overhead"]
UNSEEN = ("compile", "compile_max", "graph", "freeze")
"""Variants of the reference whose results nobody reads."""
OVERHEAD_CALLS = 32
BUSY_NS = 300_000
"""How long the device spins before a call, until it is known how long each side takes to queue one."""


class CudaCandidateProcess(CandidateProcess):
    """A child with an outbox. Its own events are the clock, bounded by the grader's outside."""

    def __init__(self, child: Child, limit_s: float) -> None:
        super().__init__(child, limit_s)
        self.outbox: CudaArena | None = None
        self.outbox_bytes = 0
        self.busy_ns = BUSY_NS
        self.guarded_in_time = False
        self.off: tuple[str, ...] = ()
        """Defences that a test switched off."""
        self._exported_ns = 0

    def open_outbox(self, size: int) -> int:
        """Allocate it, if need be in place of other tasks' memory; returns the descriptor for the child.

        Raises:
            torch.OutOfMemoryError: the device has no room for it.
        """
        try:
            self.outbox = CudaArena([size])
        except torch.OutOfMemoryError:
            if self.relieve is None:
                raise
            self.relieve()
            self.outbox = CudaArena([size])
        self.outbox_bytes = self.outbox.layout()[0]
        return self.outbox.descriptors[0]

    def has_room(self, outputs: Sequence[TensorSpec], calls: int) -> bool:
        """As `CandidateProcess.has_room`."""
        return calls * guarded_bytes(outputs) <= self.outbox_bytes

    def run(self, calls: Sequence[Sequence[int]], checked: bool, variant: str = "") -> Ran:
        """As `CandidateProcess.run`; results are copied to the outbox in a question of their own, after the clock."""
        return self._ran(calls, checked, variant, "none" if checked or variant.endswith("fp64") else "each")

    def take_parameters(self, offsets: Sequence[int]) -> None:
        """Have it take the parameters at these offsets; before a call that is timed by itself it takes that call's."""
        if offsets:
            self.ask(TakeParameters(offsets=offsets))

    def run_waiting(self, calls: Sequence[Sequence[int]], variant: str = "") -> Ran:
        """As a program calls that needs every result: the device is waited for after each call, the L2 is warm."""
        return self._ran(calls, False, variant, "waiting")

    def capture(self, calls: Sequence[Sequence[int]]) -> None:
        """Make one graph of these calls; one without parameters has those that were given last.

        Raises:
            ChildRaisedError: they cannot be captured.
            as `ask`.
        """
        self.ask(RunOnDevice(calls=calls, how=Clocking(clock="capture")))

    def hold(self, calls: Sequence[Sequence[int]], limit_s: float) -> None:
        """Queue these calls, none of which begins before `replay`; as `capture`.

        Raises:
            ChildSlowError: they wait for the device, which waits for them.
            as `ask`.
        """
        self.ask(RunOnDevice(calls=calls, how=Clocking(clock="hold", off=self.off)), limit_s)

    def overwrite(self) -> None:
        """Have its last results overwritten.

        Raises:
            as `ask`.
        """
        if "poison" not in self.off:
            self.ask(RunOnDevice(calls=(), how=Clocking(clock="poison")))

    def replay(self, calls: Sequence[Sequence[int]], how: Again) -> Ran:
        """The calls that were captured or held, or a loop of those that should have been, on what lies at their places now.

        No calls: what an empty question takes.

        Raises:
            as `ask`.
        """
        self.calls += len(calls)
        _, response = self._put(RunOnDevice(calls=calls, how=Clocking(clock=how)))
        results = self._results(len(calls), "") if calls else ()
        exported_ns = self._exported_ns if calls else 0
        return Ran(results, response.outside_ns, 1, response.cpu_ns, exported_ns=exported_ns)

    def copying_ns(self, calls: Sequence[Sequence[int]]) -> dict[Again, int]:
        """What copying the parameters of these calls takes the reference, by how a candidate's calls are made again.

        Raises:
            as `ask`.
        """
        told = self.ask(RunOnDevice(calls=calls, variant="eager", how=Clocking(clock="copying")))
        return {"replay": told.ns, "release": told.ns, "loop": told.queued_ns}

    def overhead_us(self, offsets: Sequence[int]) -> float:
        """What its clock says of a kernel that does nothing, in microseconds: the mean of the middle half of its calls.

        The events have ticks of 32 ns, so that a median could say no more than which tick.
        """
        aside, self.aside = self.aside, nullcontext  # the device's own time, whatever the side computes on
        try:
            each = sorted(self._ran([offsets] * OVERHEAD_CALLS, False, "eager", "overhead").each_ns)
        finally:
            self.aside = aside
        return fmean(each[OVERHEAD_CALLS // 4 : -OVERHEAD_CALLS // 4]) / 1000

    def _ran(self, calls: Sequence[Sequence[int]], checked: bool, variant: str, clock: Clock) -> Ran:
        self.calls += len(calls)
        how = Clocking(clock=clock, busy_ns=self.busy_ns, watched=self.watched, off=self.off)
        times, response = self._put(self._running(calls, variant, how))
        inside, each = max(1, times.ns), times.each_ns
        if clock in ("each", "overhead") and (len(each) != len(calls) or max(1, sum(each)) != inside):
            raise TamperedError(f"malformed answer: {len(each)} times of {len(calls)} calls")
        # What a kernel that does nothing computed, nobody asks for.
        results = () if clock == "overhead" else self._results(len(calls), variant)
        beside = self._believed(times.beside_ns)
        return Ran(
            results, response.outside_ns, inside, response.cpu_ns, each, times.queued_ns, self._exported_ns, beside
        )

    def _running(self, calls: Sequence[Sequence[int]], variant: str, how: Clocking) -> Command[Clocked]:
        """The question to compute."""
        return RunOnDevice(calls=calls, variant=variant, how=how)

    def compute(self, calls: Sequence[Sequence[int]], variant: str, limit_s: float) -> None:
        """As `CandidateProcess.compute`."""
        self.ask(RunOnDevice(calls=calls, variant=variant), limit_s)

    def _results(self, calls: int, variant: str) -> tuple[tuple[Found, ...], ...]:
        """Where the results of the last question lie."""
        if variant in UNSEEN:
            return tuple(() for _ in range(calls))
        # Large results of fp64 come back in single precision: there is no room for them otherwise.
        exported, response = self._put(Export(narrow=variant in DOUBLES and self.narrow))
        self._exported_ns = response.outside_ns
        return of_all(exported.results, calls)

    narrow = False
    """Whether fp64 results are too large to be kept as they are."""

    def read(self, found: Found) -> torch.Tensor:
        """Copy a result out of the outbox."""
        return self._lies(found).clone()

    def read_parts(self, found: Found, parts: Sequence[tuple[int, int]]) -> torch.Tensor:
        """As `CandidateProcess.read_parts`: one gathering on the device, however many parts there are."""
        flat = self._lies(found).view(-1)
        if len(parts) == 1:
            first, count = parts[0]
            return flat[first : first + count].clone()
        return flat[_places(tuple(parts), flat.device)]

    def guards_intact(self, found: Found) -> bool:
        """There are none: the child's results are its own allocations."""
        return True

    def close(self) -> None:
        """End the child and free the outbox."""
        super().close()
        self.leave()

    def leave(self) -> None:
        """Free the outbox, as soon as the child is gone too; somebody else ends it."""
        if self.outbox is not None:
            self.outbox.close()
            self.outbox = None

    def _lies(self, found: Found) -> torch.Tensor:
        """The result where it lies."""
        if found.address < 0 or self.outbox is None:
            raise TamperedError(f"a result of shape {found.shape} and dtype {found.dtype} does not fit the outbox")
        if found.address % LINE or found.address + found.nbytes > self.outbox_bytes:
            raise TamperedError(f"a result of {found.nbytes} bytes at {found.address} lies outside the outbox")
        spec = {"name": "", "shape": found.shape, "dtype": found.dtype}
        return self.outbox.tensor(0, found.address, TensorSpec.model_validate(spec))


class PlanCandidateProcess(CudaCandidateProcess):
    """The launcher with one program: host code and clock are the referee's, so it is neither frozen nor doubted."""

    def __init__(self, child: Child, limit_s: float, outputs: Sequence[TensorSpec]) -> None:
        super().__init__(child, limit_s)
        self.freeze = False
        self._outputs = tuple(outputs)
        self.left_out: tuple[int, ...] = ()
        """Launches that are skipped, to see whether they matter."""

    def load(
        self,
        program: Program,
        arena: tuple[Sequence[int], Sequence[int]],
        inputs: int,
        private: Sequence[TensorSpec] = (),
        box: int = OUTBOX,
    ) -> ProgramLoaded:
        """Hand over the arena (sizes and descriptors of its segments) and the program.

        The first `inputs` segments are inputs, the others parameters. `private` tensors are copied and may be written to.

        Raises:
            as `ask`; ChildRaisedError: none of its plans can be launched on this device.
        """
        copies = sum(t.nbytes + LINE for t in private)
        outbox = self.open_outbox(max(self.room(self._outputs, 1 if private else MOST_CALLS, box), copies))
        modules = [_sealed(m) for m in program.modules]
        sizes, descriptors = arena
        command = LoadProgram(
            sizes=sizes,
            outbox=self.outbox_bytes,
            inputs=inputs,
            output_bytes=[o.nbytes for o in self._outputs],
            plans=program.plans,
            unaligned_plans=program.unaligned_plans,
            private=private,
            files=(*descriptors, outbox, *modules),
        )
        try:
            return self.ask(command)
        finally:
            for descriptor in modules:
                os.close(descriptor)

    def take_parameters(self, offsets: Sequence[int]) -> None:
        """Kernels read them where they lie."""

    @staticmethod
    def room(outputs: Sequence[TensorSpec], calls: int, box: int = OUTBOX) -> int:
        """Bytes for one call's results, and for as many more as are affordable, up to `box`."""
        one = sum(_slot(o) for o in outputs)
        return max(one, min(box, calls * one))

    def most_calls(self) -> int:
        """Calls whose results fit together."""
        return max(1, min(MOST_CALLS, self.outbox_bytes // max(1, sum(_slot(o) for o in self._outputs))))

    def choose(self, offsets: Sequence[int]) -> tuple[int, list[float]]:
        """Which plan is the fastest on these inputs, and microseconds of each."""
        chosen = self.ask(ChoosePlan(call=offsets, outs=self._starts(0)))
        return chosen.index, list(chosen.us)

    def _running(self, calls: Sequence[Sequence[int]], variant: str, how: Clocking) -> Command[Clocked]:
        # A kernel that does nothing leaves no results: all of its calls have one place.
        places = min(len(calls), 1) if how.clock == "overhead" else len(calls)
        self._poison(places)
        outs = [self._starts(i % places) for i in range(len(calls))]
        return LaunchPlans(calls=calls, outs=outs, left_out=self.left_out, how=how)

    def _results(self, calls: int, variant: str) -> tuple[tuple[Found, ...], ...]:
        return tuple(
            tuple(
                Found(address=start, dtype=o.dtype, shape=o.shape)
                for start, o in zip(self._starts(i), self._outputs, strict=True)
            )
            for i in range(calls)
        )

    def read(self, found: Found) -> torch.Tensor:
        """A result where it lies, since nothing can write to it until the next question."""
        return self._lies(found)

    def guards_intact(self, found: Found) -> bool:
        """Whether nothing was written directly before or behind a result."""
        assert self.outbox is not None
        before = self.outbox.bytes(0, found.address - GUARD, GUARD)
        behind = self.outbox.bytes(0, found.address + found.nbytes, GUARD)
        return bool((before == GUARD_BYTE).all() & (behind == GUARD_BYTE).all())

    def _starts(self, call: int) -> list[int]:
        start, starts = call * sum(_slot(o) for o in self._outputs), []
        for spec in self._outputs:
            starts.append(start + GUARD)
            start += _slot(spec)
        return starts

    def _poison(self, calls: int) -> None:
        assert self.outbox is not None
        if calls * sum(_slot(o) for o in self._outputs) > self.outbox_bytes:
            raise RefereeError(f"the results of {calls} calls do not fit an outbox of {self.outbox_bytes} bytes")
        for call in range(calls):
            for start, spec in zip(self._starts(call), self._outputs, strict=True):
                whole_slot = self.outbox.bytes(0, start - GUARD, _slot(spec))
                whole_slot.fill_(GUARD_BYTE)
                whole_slot[GUARD : GUARD + spec.nbytes].fill_(POISON_BYTE)
        torch.cuda.synchronize()


@lru_cache(maxsize=32)
def _places(parts: tuple[tuple[int, int], ...], device: torch.device) -> torch.Tensor:
    """Indices of all elements of these parts, made where they are used; both sides of a round are asked for the same."""
    total = sum(count for _, count in parts)
    firsts, counts = torch.tensor(parts, device=device).unbind(1)
    shifts = torch.repeat_interleave(firsts - counts.cumsum(0) + counts, counts, output_size=total)
    return torch.arange(total, device=device) + shifts


def _slot(spec: TensorSpec) -> int:
    """Bytes of one result with its guards."""
    return -(-(prod(spec.shape) and spec.nbytes) // LINE) * LINE + 2 * GUARD


def _sealed(data: bytes) -> int:
    """The bytes as a descriptor."""
    descriptor = os.memfd_create("module")
    os.write(descriptor, data)
    return descriptor
