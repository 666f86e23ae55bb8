"""Processes that compute on the device: the reference, candidates with host code of their own, and the referee's launcher.

The first two copy their results into an outbox after the clock. The launcher is told where to put them, in memory that is
poisoned and guarded again before every question.
"""

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from statistics import fmean

from kernelwright.evaluate.backends.cuda.footprint import OUTBOX
from kernelwright.evaluate.backends.cuda.outbox import Outbox, PlacedOutbox
from kernelwright.evaluate.languages.builder import Program
from kernelwright.evaluate.sandbox.child import Child
from kernelwright.evaluate.sandbox.compute_process import MOST_CALLS, ComputeProcess, TimedRun, of_all
from kernelwright.evaluate.sandbox.cuda_arena import LINE
from kernelwright.evaluate.sandbox.messages.base import Command
from kernelwright.evaluate.sandbox.messages.calls import (
    DOUBLES,
    Again,
    CaptureGraph,
    Clock,
    Clocked,
    Clocking,
    Export,
    Found,
    HoldCalls,
    Overwrite,
    Replay,
    RunOnDevice,
    TakeParameters,
    TimeCopying,
)
from kernelwright.evaluate.sandbox.messages.candidates import ChoosePlan, LaunchPlans, LoadProgram, ProgramLoaded
from kernelwright.evaluate.sandbox.process import USUAL, ProcessOptions, TamperedError
from kernelwright.records.defences import Defences
from kernelwright.records.tensor import TensorSpec

ALL = Defences()
UNSEEN = ("compile", "compile_max", "graph", "freeze")
"""Variants of the reference whose results nobody reads."""
OVERHEAD_CALLS = 32
BUSY_NS = 300_000
"""How long the device spins before a call, until it is known how long each side takes to queue one."""


class DeviceProcess(ComputeProcess):
    """A child whose own events are the clock, bounded by the grader's outside; its results lie in an outbox."""

    def __init__(
        self,
        child: Child,
        limit_s: float,
        options: ProcessOptions = USUAL,
        defences: Defences = ALL,
        outbox: Outbox | None = None,
    ) -> None:
        self.outbox = outbox or Outbox()
        super().__init__(child, limit_s, options, self.outbox)
        self._defences, self._busy_ns, self._watched, self._exported_ns = defences, BUSY_NS, False, 0

    def open_outbox(self, size: int) -> int:
        """See `Outbox.open`."""
        return self.outbox.open(size, self.options.relieve)

    def spin_before_calls(self, busy_ns: int) -> None:
        """See `ComputeProcess.spin_before_calls`."""
        self._busy_ns = busy_ns

    @contextmanager
    def watching(self) -> Iterator[None]:
        """See `ComputeProcess.watching`."""
        before, self._watched = self._watched, True
        try:
            yield
        finally:
            self._watched = before

    def run(self, calls: Sequence[Sequence[int]], checked: bool, variant: str = "") -> TimedRun:
        """See `ComputeProcess.run`; results are handed over in a question of their own, after the clock."""
        return self._clocked(calls, variant, "none" if checked or variant.endswith("fp64") else "each")

    def run_waiting(self, calls: Sequence[Sequence[int]], variant: str = "") -> TimedRun:
        """As a program calls that needs every result: the device is waited for after each call, the L2 is warm."""
        return self._clocked(calls, variant, "waiting")

    def take_parameters(self, offsets: Sequence[int]) -> None:
        """Have it take the parameters at these offsets; before a call that is timed by itself it takes that call's."""
        if offsets:
            self.ask(TakeParameters(offsets=offsets))

    def overhead_us(self, offsets: Sequence[int]) -> float:
        """What its clock says of a kernel that does nothing, in microseconds: the mean of the middle half of its calls.

        The events have ticks of 32 ns, so that a median could say no more than which tick.
        """
        each = sorted(self._clocked([offsets] * OVERHEAD_CALLS, "eager", "overhead").each_ns)
        return fmean(each[OVERHEAD_CALLS // 4 : -OVERHEAD_CALLS // 4]) / 1000

    def leave(self) -> None:
        """Free the outbox, as soon as the child is gone too; somebody else ends it."""
        self.outbox.close()

    def _clocked(self, calls: Sequence[Sequence[int]], variant: str, clock: Clock) -> TimedRun:
        self.calls += len(calls)
        how = Clocking(
            clock=clock,
            busy_ns=self._busy_ns,
            watched=self._watched and self._defences.watched,
            cold_cache=self._defences.cold_cache,
        )
        # What starting a kernel takes is the device's own time, whatever the side computes on.
        times, response = self.put(self._command(calls, variant, how), aside=clock != "overhead")
        inside, each = max(1, times.ns), times.each_ns
        if clock in ("each", "overhead") and (len(each) != len(calls) or max(1, sum(each)) != inside):
            raise TamperedError(f"malformed answer: {len(each)} times of {len(calls)} calls")
        # What a kernel that does nothing computed, nobody asks for.
        results = () if clock == "overhead" else self._results(len(calls), variant)
        beside = self._believed(times.beside_ns)
        return TimedRun(
            results, response.outside_ns, inside, response.cpu_ns, each, times.queued_ns, self._exported_ns, beside
        )

    def _command(self, calls: Sequence[Sequence[int]], variant: str, how: Clocking) -> Command[Clocked]:
        """The question to compute."""
        on = self._defences
        return RunOnDevice(calls=calls, variant=variant, how=how, poison=on.poison, stream_order=on.stream_order)

    def _results(self, calls: int, variant: str) -> tuple[tuple[Found, ...], ...]:
        """Where the results of the last question lie, once they are handed over."""
        return self._exported(calls, narrow=False)

    def _exported(self, calls: int, narrow: bool) -> tuple[tuple[Found, ...], ...]:
        exported, response = self.put(Export(narrow=narrow))
        self._exported_ns = response.outside_ns
        return of_all(exported.results, calls)


class DeviceReference(DeviceProcess):
    """The task's own code, in its variants."""

    _narrow = False

    def open_results(self, size: int, narrow: bool) -> tuple[int, int]:
        """See `ComputeProcess.open_results`."""
        self._narrow = narrow
        return self.open_outbox(size), self.outbox.nbytes

    def compute(self, calls: Sequence[Sequence[int]], variant: str, limit_s: float) -> None:
        """See `ComputeProcess.compute`."""
        self.ask(RunOnDevice(calls=calls, variant=variant), limit_s)

    def copying_ns(self, calls: Sequence[Sequence[int]]) -> dict[Again, int]:
        """See `ComputeProcess.copying_ns`."""
        took = self.ask(TimeCopying(calls=calls))
        return {"replay": took.graph_ns, "release": took.graph_ns, "loop": took.loop_ns}

    def _results(self, calls: int, variant: str) -> tuple[tuple[Found, ...], ...]:
        if variant in UNSEEN:
            return tuple(() for _ in range(calls))
        # Large results of fp64 come back in single precision: there is no room for them otherwise.
        return self._exported(calls, narrow=variant in DOUBLES and self._narrow)


class ModelProcess(DeviceProcess):
    """A candidate's own host code. Implements `Replayable`."""

    def capture(self, calls: Sequence[Sequence[int]]) -> None:
        """See `Replayable.capture`.

        Raises:
            ChildRaisedError: they cannot be captured.
            as `ask`.
        """
        self.ask(CaptureGraph(calls=calls))

    def enqueue_behind_gate(self, calls: Sequence[Sequence[int]], limit_s: float) -> None:
        """See `Replayable.enqueue_behind_gate`.

        Raises:
            ChildSlowError: they wait for the device, which waits for them.
            as `ask`.
        """
        self.ask(HoldCalls(calls=calls, poison=self._defences.poison), limit_s)

    def overwrite(self) -> None:
        """See `Replayable.overwrite`.

        Raises:
            as `ask`.
        """
        if self._defences.poison:
            self.ask(Overwrite())

    def replay(self, calls: Sequence[Sequence[int]], how: Again) -> TimedRun:
        """See `Replayable.replay`.

        Raises:
            as `ask`.
        """
        self.calls += len(calls)
        _, response = self.put(Replay(how=how, idle=not calls))
        results = self._results(len(calls), "") if calls else ()
        exported_ns = self._exported_ns if calls else 0
        return TimedRun(results, response.outside_ns, 1, response.cpu_ns, exported_ns=exported_ns)


class PlanProcess(DeviceProcess):
    """The launcher with one program: host code and clock are the referee's, so it is neither frozen nor doubted."""

    def __init__(
        self,
        child: Child,
        limit_s: float,
        outputs: Sequence[TensorSpec],
        options: ProcessOptions = USUAL,
        defences: Defences = ALL,
    ) -> None:
        self._placed = PlacedOutbox(outputs)
        super().__init__(child, limit_s, replace(options, freeze=False), defences, self._placed)
        self._left_out: tuple[int, ...] = ()

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
        outbox = self.open_outbox(max(self._placed.room(1 if private else MOST_CALLS, box), copies))
        modules = [_sealed(m) for m in program.modules]
        sizes, descriptors = arena
        command = LoadProgram(
            sizes=sizes,
            outbox=self.outbox.nbytes,
            inputs=inputs,
            output_bytes=[o.nbytes for o in self._placed.outputs],
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

    def choose(self, offsets: Sequence[int]) -> int:
        """Which plan is the fastest on these inputs."""
        return self.ask(ChoosePlan(call=offsets, outs=self._placed.starts(0))).index

    @contextmanager
    def without(self, launches: Sequence[int]) -> Iterator[None]:
        """Meanwhile these launches are skipped, to see whether they matter."""
        self._left_out = tuple(launches)
        try:
            yield
        finally:
            self._left_out = ()

    def _command(self, calls: Sequence[Sequence[int]], variant: str, how: Clocking) -> Command[Clocked]:
        # A kernel that does nothing leaves no results: all of its calls have one place.
        places = min(len(calls), 1) if how.clock == "overhead" else len(calls)
        self._placed.poison(places)
        outs = [self._placed.starts(i % places) for i in range(len(calls))]
        state = self._defences.device_state
        return LaunchPlans(calls=calls, outs=outs, left_out=self._left_out, how=how, device_state=state)

    def _results(self, calls: int, variant: str) -> tuple[tuple[Found, ...], ...]:
        return self._placed.results(calls)


def _sealed(data: bytes) -> int:
    """The bytes as a descriptor."""
    descriptor = os.memfd_create("module")
    os.write(descriptor, data)
    return descriptor
