"""An NVIDIA GPU that is here: Triton and CUDA C++ candidates, inputs in device memory, the device's own events."""

import gc
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext, suppress
from functools import partial

import torch

from kernelwright.errors import MachineError, RefereeError
from kernelwright.evaluate.backends.backend import BuiltCandidate, CloseOldest
from kernelwright.evaluate.backends.cuda.clock import CudaClock
from kernelwright.evaluate.backends.cuda.footprint import BESIDE, EAGER_TIMES
from kernelwright.evaluate.backends.cuda.loading import load_model, load_plan
from kernelwright.evaluate.backends.cuda.machine import CudaMachine
from kernelwright.evaluate.backends.cuda.memory import DeviceMemory, rest
from kernelwright.evaluate.backends.cuda.preparation import built
from kernelwright.evaluate.backends.cuda.process import DeviceReference
from kernelwright.evaluate.backends.cuda.profiling import Profiler, request_of
from kernelwright.evaluate.backends.cuda.versions import driver_versions, toolkit_versions
from kernelwright.evaluate.backends.host import LIMIT_S, Host, common_versions, reference_jail
from kernelwright.evaluate.backends.table import parent_of
from kernelwright.evaluate.languages.builder import Library, Program
from kernelwright.evaluate.sandbox.compute_process import ComputeProcess
from kernelwright.evaluate.sandbox.messages.tasks import EstimateTask
from kernelwright.evaluate.sandbox.process import ProcessOptions
from kernelwright.evaluate.sandbox.spawn import Warm
from kernelwright.evaluate.session.cases import OriginalTask
from kernelwright.evaluate.session.session import Session
from kernelwright.evaluate.session.trial import Trial
from kernelwright.languages import names_for
from kernelwright.records.measure import BuildFacts
from kernelwright.records.policy import Policy
from kernelwright.records.profile import Profile
from kernelwright.records.run import Device
from kernelwright.records.task import TaskSource

REFERENCE_BYTES = 1 << 40
"""The CUDA driver reserves address space for all of the memory that it could ever see."""
FREEING_S = 6.0
"""Longest that the device's memory is waited for, in seconds."""


def open_backend(cpu: Callable[[], Host]) -> "CudaBackend":
    """See `table.Row`.

    Raises:
        MachineError: there is no GPU.
    """
    if not torch.cuda.is_available():
        raise MachineError("torch sees no GPU; use --target cpu, or --target sm_90 to compile for one")
    warm = parent_of("cuda")
    warm.start()
    return CudaBackend(warm)


class CudaBackend:
    """Implements `Backend`."""

    languages = names_for("cuda")
    is_gpu, most_bytes = True, None

    def __init__(self, warm: Warm) -> None:
        found = torch.cuda.get_device_properties(0)
        device = Device(
            kind="cuda", name=found.name, cores=found.multi_processor_count, cache_bytes=found.L2_cache_size
        )
        self.host = Host(warm, device, unit=str(found.uuid))
        self.machine, self.clock = CudaMachine(self.host), CudaClock(self.host)
        self._profiler = Profiler(self.host, self.clock.ceiling_gbps, lambda: {**common_versions(), **self.versions()})
        self._active: Session | None = None

    def versions(self) -> dict[str, str]:
        """See `Backend.versions`."""
        return {**toolkit_versions(), **driver_versions()}

    def reference(self, source: TaskSource, policy: Policy, close_oldest: CloseOldest) -> DeviceReference:
        """See `Backend.reference`."""
        total = torch.cuda.mem_get_info()[1]
        lock = self.host.device_lock
        options = ProcessOptions(
            runs_reference=True,
            relieve=partial(self._make_room, total, close_oldest),
            aside=lock.aside if source.serial else nullcontext,
        )
        child = self.host.warm.spawn("reference_cuda", reference_jail(REFERENCE_BYTES))
        process = DeviceReference(child, LIMIT_S, options)
        try:
            eager = process.ask(EstimateTask(source=source.source)).nbytes
            self._make_room(min(total, EAGER_TIMES * eager + BESIDE) if eager else total // 2, close_oldest)
        except BaseException:
            process.close()
            raise
        return process

    def session(
        self, original: OriginalTask, reference: ComputeProcess, policy: Policy, close_oldest: CloseOldest
    ) -> Session:
        """See `Backend.session`."""
        memory = DeviceMemory(original, reference, policy, lambda nbytes: self._make_room(nbytes, close_oldest))
        return Session(original, original.task, reference, policy, memory)

    def activate(self, session: Session) -> None:
        """It is this task's turn: the reference of the one before keeps no memory for a next call."""
        before, self._active = self._active, session
        if before is not None and before is not session and not before.closed:
            # One that has died keeps no memory, and is told of when its own task has the next turn: not in this one's.
            with suppress(RefereeError):
                rest(before.reference)

    @contextmanager
    def prepared(self, trial: Trial) -> Iterator[BuiltCandidate]:
        """See `Backend.prepared`: goes on beside other candidates' clocks."""
        made = built(trial, self.machine)
        trial.found.facts = made.facts
        if isinstance(made, Program):
            yield BuiltCandidate(made.facts, lambda: load_plan(trial, self.machine, made), own_host=False)
            return
        try:
            yield BuiltCandidate(made.facts, lambda: load_model(trial, self.machine, made))
        finally:
            if isinstance(made, Library):
                made.close()

    def profile(self, trial: Trial, build: BuildFacts | None) -> Profile:
        """See `Backend.profile`: built beside other candidates' clocks, run when it has the device's turn."""
        request = request_of(trial, build, self.machine)
        with self.host.device_lock:
            return self._profiler.profile(request)

    def close(self) -> None:
        """See `Backend.close`."""
        self.machine.close()
        self.host.close()

    def _make_room(self, nbytes: int, close_oldest: CloseOldest) -> None:
        """Close the sessions of tasks that were not asked for lately, until this much device memory is free."""
        self.machine.settle()
        gc.collect()
        torch.cuda.empty_cache()
        while torch.cuda.mem_get_info()[0] < nbytes and close_oldest():
            _wait_for_memory()
        free, total = torch.cuda.mem_get_info()
        if free < nbytes < total:
            # What ended a moment ago was not closed here: a task that was refused, or that gave way to a second try.
            _wait_for_memory()


def _wait_for_memory() -> None:
    """Until what ended has given its memory back: a process is gone before its last thread has freed the device's."""
    torch.cuda.empty_cache()
    free, last = -1, time.monotonic() + FREEING_S
    while free != (free := torch.cuda.mem_get_info()[0]) and time.monotonic() < last:
        time.sleep(FREEING_S / 20)
