"""The task's own code on the GPU, in its own process. What differs from `entrypoints.reference.cpu`: where tensors live.

Inputs are drawn under `torch.device("cuda")`, so that gigabytes of random numbers cost milliseconds; the arena is mapped
writable here, and draws are put straight into it. The baselines that only a GPU has are made here.
"""

import gc
import os
import signal
import socket
import traceback
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import partial
from types import FrameType

import torch

from kernelwright.evaluate.entrypoints import captures, device_clock, session
from kernelwright.evaluate.entrypoints.device_clock import Enqueue, Left, clocked, publish, together
from kernelwright.evaluate.entrypoints.reference.cpu import Call, ReferenceSide, described_by
from kernelwright.evaluate.entrypoints.reference.effects import Effects
from kernelwright.evaluate.entrypoints.reference.slices import cut, run_in_slices
from kernelwright.evaluate.entrypoints.reference.task_file import double
from kernelwright.evaluate.sandbox.cuda_arena import CudaView
from kernelwright.evaluate.sandbox.messages import calls as messages
from kernelwright.evaluate.sandbox.messages import tasks
from kernelwright.evaluate.sandbox.messages.base import Done
from kernelwright.evaluate.triton.model import flatten
from kernelwright.records.tensor import TensorSpec

CACHE_BYTES = 16 << 30
"""What this process may keep of freed device memory between two calls."""

PARTS, WHOLE_BYTES = 64, 4 << 30
"""Parts of the rows of which one is measured, and what the fp64 variant may take as a whole where it can go in slices."""
SMALL_BYTES = 2 << 30
"""Of results in double precision that stay so."""
THREADS = "TORCHINDUCTOR_COMPILE_THREADS"
"""Of a compiler that tunes: read as it first does. Whether it has a pool of processes was decided at its import."""
COPIED = 3
"""Times that the copying of parameters is timed; the quickest counts."""
UNREAD = ("compile", "compile_max", "graph", "freeze")
"""Variants whose results nobody asks for."""
AGAIN_S = 5.0
"""The alarm rings again after so long: Python drops an exception that is raised while an object is finalised."""


class CudaReferenceSide(ReferenceSide):
    """State of this process."""

    _scratch = 0
    _sliced = False
    _row_bytes = 0
    """What a row of the fp64 variant takes at most; 0: not measured yet."""
    _was_precise = False
    """Whether the last results are an fp64 variant's."""

    def map_all(self, command: messages.MapDeviceArena) -> Done:
        """Map the arena and the outbox."""
        torch.cuda.empty_cache()
        device_clock.flush_memory()
        *arena, outbox = command.files
        self._view = CudaView(arena, command.sizes, writable=True)  # type: ignore[assignment]
        self._capacity = command.outbox
        self._outbox = CudaView([outbox], [self._capacity], writable=True)
        return Done()

    def _observe(self, model: torch.nn.Module, leaves: list[object]) -> Effects:
        """As everywhere, and how much memory the call took at most."""
        torch.cuda.reset_peak_memory_stats()
        before = torch.cuda.memory_allocated()
        effects = super()._observe(model, leaves)
        results = sum(t.numel() * t.element_size() for t in effects.results)
        if model is self._models["eager"]:
            self._scratch = max(self._scratch, torch.cuda.max_memory_allocated() - before - results)
        return effects

    def _scratch_bytes(self) -> int:
        return self._scratch

    def release(self, command: messages.Release) -> Done:
        """Give memory back to the device: of the last results and graphs, of what refers to itself if `collect` says so."""
        self._kept = []
        captures.let_go()
        if command.collect:
            gc.collect()
        torch.cuda.empty_cache()
        return Done()

    def draw_into(self, command: messages.DrawInto) -> Done:
        """Draw inputs of one seed into the arena at these offsets."""
        drawn = self._draw(command.seed)
        self._put([t for t in drawn if isinstance(t, torch.Tensor)], 0, command.offsets)
        return Done()

    def put_state(self, command: messages.PutState) -> Done:
        """Put the parameters as they were initialised into the arena at these offsets."""
        self._put(self._built(), self._first_parameter, command.offsets)
        return Done()

    def run_on_device(self, command: messages.RunOnDevice) -> messages.Clocked:
        """Run a variant; results stay on the device until the next run."""
        variant = command.variant
        calls = [self._leaves_of(variant, offsets) for offsets in command.calls]
        self._kept, self._was_precise = [], variant in messages.DOUBLES
        with torch.no_grad():
            if self._was_precise:
                self._kept = [
                    self._precise(leaves, offsets, variant)
                    for leaves, offsets in zip(calls, command.calls, strict=True)
                ]
                return messages.Clocked(ns=0)
            left = Left(lambda i: self._after(variant, calls[i]))
            ready = [partial(self._make_ready, variant, offsets) for offsets in command.calls]
            enqueue, prepare = left.around(self._enqueue(variant, calls), ready, command.how, bool(self._state))
            values, times = clocked(enqueue, len(calls), command.how, prepare)
            if variant not in UNREAD:
                self._kept = [[*flatten(v), *after] for v, after in zip(values, left.all(len(calls)), strict=True)]
        return times

    def time_copying(self, command: messages.TimeCopying) -> messages.CopyingTimed:
        """What copying the parameters of these calls takes: on the device alone, and with the host."""

        def copy(offsets: messages.Offsets) -> None:
            self._make_ready("eager", offsets)

        calls = command.calls
        with torch.no_grad():
            looped = min(together(lambda i: copy(calls[i]), len(calls))[1].ns for _ in range(COPIED))
            graph = captures.OneGraph(copy, [(offsets,) for offsets in calls])
            replayed = min(graph.run() for _ in range(COPIED))
        captures.let_go()
        return messages.CopyingTimed(graph_ns=replayed, loop_ns=looped)

    def prepare(self, command: messages.Prepare) -> messages.Prepared:
        """As on the CPU; a baseline that cannot be made is no error of the task's, and says why."""
        variant = command.variant
        self._sliced = command.sliced if variant == "fp64" else self._sliced
        if variant == "compile_max":
            return self._tuned(command)
        return self._tried(variant, command.calls) if variant == "graph" else super().prepare(command)

    def _tuned(self, command: messages.Prepare) -> messages.Prepared:
        """`compile_max`, or that it took too long; what its templates make is compiled on all cores, in threads."""
        # Its CUDA graphs would copy every input in, or be captured anew within the clock: inputs move here.
        self._variants[command.variant] = torch.compile(self._models["eager"], mode="max-autotune-no-cudagraphs")
        alone = os.environ.get(THREADS, "1")
        os.environ[THREADS] = str(len(os.sched_getaffinity(0)))
        try:
            with ended_after(command.limit_s):
                return self._tried(command.variant, command.calls)
        except TimeIsOver:
            del self._variants[command.variant]
        finally:
            os.environ[THREADS] = alone
        # Outside of the handler, whose traceback holds what the compiler had on the device.
        torch.cuda.synchronize()
        gc.collect()
        torch.cuda.empty_cache()
        return messages.Prepared(missing=f"torch.compile was not done tuning after {command.limit_s:g} s")

    def _leaves_of(self, variant: str, offsets: Sequence[int]) -> list[object]:
        """As everywhere; in slices, only a slice is ever in double precision."""
        if variant not in messages.DOUBLES:
            return super()._leaves_of(variant, offsets)
        if self._rows and not self._row_bytes:
            self._measure_a_row(offsets)
        return self._window(self._view, offsets) if self._sliced else super()._leaves_of(variant, offsets)

    def _measure_a_row(self, offsets: Sequence[int]) -> None:
        """What a row of the fp64 variant takes, of which eager tells nothing: attention writes no scores down, double does.

        Where the whole would take much, it goes in slices, whatever there was room for.
        """
        leaves = self._window(self._view, offsets)
        self._make_ready("fp64", offsets)
        rows = self._outputs[0].shape[0]
        count = max(1, rows // PARTS)
        torch.cuda.reset_peak_memory_stats()
        before = torch.cuda.memory_allocated()
        with torch.no_grad():
            self._called(self._models["fp64"], [double(v) for v in cut(leaves, self._rows, slice(0, count))])
        self._row_bytes = max(1, (torch.cuda.max_memory_allocated() - before) // count)
        self._sliced = self._sliced or rows * self._row_bytes > WHOLE_BYTES

    def _precise(self, leaves: list[object], offsets: messages.Offsets, variant: str = "fp64") -> list[torch.Tensor]:
        """One call in double precision: in slices, whole, or on the host where the device has no room for the whole."""
        model, function = self._models["fp64"], self._function(variant)
        self._make_ready("fp64", offsets)
        if self._sliced:
            return run_in_slices(
                lambda part: self._called(function, [double(v) for v in part]),
                leaves,
                self._rows,
                self._narrow_results(),
                self._row_bytes,
            )
        try:
            return [*flatten(self._called(function, leaves)), *self._after("fp64", leaves)]
        except torch.OutOfMemoryError:
            torch.cuda.empty_cache()
        try:
            model.cpu()
            return self._on_host(function, leaves, offsets)
        finally:
            model.to(self._device)

    def _on_host(self, function: Call, leaves: list[object], offsets: messages.Offsets) -> list[torch.Tensor]:
        """The whole call there, with what a first try wrote to, such as a counter of batches, as it was before."""
        self._make_ready("fp64", offsets)
        given = self._window(self._view, offsets)
        fresh = [double(given[i]) if i in self._written else leaf for i, leaf in enumerate(leaves)]
        leaves = [v.cpu() if isinstance(v, torch.Tensor) else v for v in fresh]
        results = [*(_narrow(t) for t in flatten(self._called(function, leaves))), *self._after("fp64", leaves)]
        return [t.to(self._device) for t in results]

    def _narrow_results(self) -> list[torch.Tensor]:
        """Room for all results, floats in single precision where they are many."""
        small = 8 * sum(o.numel for o in self._outputs) <= SMALL_BYTES
        precise = torch.float64 if small else torch.float32
        kinds = [precise if o.floating else getattr(torch, o.dtype) for o in self._outputs]
        pairs = zip(self._outputs, kinds, strict=True)
        return [torch.empty(o.shape, dtype=kind, device=self._device) for o, kind in pairs]

    def _tried(self, variant: str, windows: Sequence[messages.Offsets]) -> messages.Prepared:
        try:
            with torch.no_grad():
                calls = [self._leaves_of(variant, w) for w in windows]
                clocked(self._enqueue(variant, calls), 1, messages.Clocking())
        except Exception:  # noqa: BLE001 (the task's own code, and the compiler's; told to the grader)
            return messages.Prepared(missing=traceback.format_exc(limit=-1).strip().splitlines()[-1][:300])
        return messages.Prepared()

    def _enqueue(self, variant: str, calls: list[list[object]]) -> Enqueue:
        if variant == "graph":
            model = self._models["eager"]
            return captures.captured(lambda *leaves: self._called(model, leaves), calls)
        function = self._function(variant)
        return lambda i: self._called(function, calls[i])

    def export(self, command: messages.Export) -> messages.Exported:
        """Copy the last results to the outbox; `narrow` rounds fp64 to single precision, which takes half the room."""
        results = [[t.contiguous() for t in call] for call in self._kept]
        if command.narrow:
            self._kept = []
            results = [[t.float() if t.dtype == torch.float64 else t for t in call] for call in results]
        published = publish(self._outbox, results, self._capacity)
        if self._was_precise and torch.cuda.memory_reserved() > CACHE_BYTES:
            # The fp64 variant's intermediates are several times the inputs; other processes need that memory. What eager
            # takes, its next call takes again, within its time.
            self._kept, results = [], []
            torch.cuda.empty_cache()
        return messages.Exported(results=published)

    def _put(self, tensors: list[torch.Tensor], first: int, offsets: messages.Offsets) -> None:
        specs = [s for s in self._inputs if isinstance(s, TensorSpec)] if first == 0 else self._parameters
        for i, (tensor, spec) in enumerate(zip(tensors, specs, strict=True)):
            if tuple(tensor.shape) != spec.shape:
                raise ValueError(f"{spec.name} changed its shape from {spec.shape} to {tuple(tensor.shape)}")
            self._view.tensor(first + i, offsets[i], spec).copy_(tensor)
        torch.cuda.synchronize()


def _narrow(result: torch.Tensor) -> torch.Tensor:
    return result.float() if result.dtype == torch.float64 else result


class TimeIsOver(BaseException):
    """The block took longer than it may."""


@contextmanager
def ended_after(seconds: float) -> Iterator[None]:
    """End the block after so long, and what it has begun in thread pools of its own: nothing runs on beside a clock.

    Only the main thread may ask for it. A call into C ends once it returns, which for a kernel on a device is when the
    kernel is done.

    Raises:
        TimeIsOver: it was not done.
    """

    def ring(_number: int, _frame: FrameType | None) -> None:
        raise TimeIsOver

    others, before = _pools(), signal.signal(signal.SIGALRM, ring)
    signal.setitimer(signal.ITIMER_REAL, seconds, AGAIN_S)
    try:
        yield
    except TimeIsOver:
        signal.setitimer(signal.ITIMER_REAL, 0.0)
        for pool in [found for found in _pools() if found not in others]:
            pool.shutdown(cancel_futures=True)
        raise
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0.0)
        signal.signal(signal.SIGALRM, before)


def _pools() -> list[ThreadPoolExecutor]:
    """Of this process; by type, since an object may answer for its class as it likes."""
    return [found for found in gc.get_objects() if issubclass(type(found), ThreadPoolExecutor)]


def serve(control: socket.socket) -> None:
    """Answer the grader's questions about the reference."""
    side = CudaReferenceSide("cuda")
    computing: session.Handlers = {
        tasks.EstimateTask: side.estimate,
        messages.DrawInto: side.draw_into,
        messages.PutState: side.put_state,
        messages.MapDeviceArena: side.map_all,
        messages.RunOnDevice: side.run_on_device,
        messages.TimeCopying: side.time_copying,
        messages.Export: side.export,
        messages.Release: side.release,
    }
    session.serve(control, {**described_by(side), **computing})
