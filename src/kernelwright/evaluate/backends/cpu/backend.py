"""This machine's cores: C++ candidates, inputs in shared memory, the grader's clock outside the process."""

import os
import platform
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from kernelwright.errors import RefereeError
from kernelwright.evaluate.backends.backend import BuiltCandidate, CloseOldest
from kernelwright.evaluate.backends.cpu.clock import CpuClock, levels
from kernelwright.evaluate.backends.cpu.loading import load_library, load_module
from kernelwright.evaluate.backends.cpu.memory import HostMemory
from kernelwright.evaluate.backends.cpu.process import HostReference
from kernelwright.evaluate.backends.host import FAILURES, LIMIT_S, Host, read_gbps, reference_jail, told
from kernelwright.evaluate.backends.table import parent_of
from kernelwright.evaluate.languages.builder import Library
from kernelwright.evaluate.languages.cpp.build import assembly
from kernelwright.evaluate.languages.table import BUILDERS
from kernelwright.evaluate.profile.assembly import innermost_loops
from kernelwright.evaluate.sandbox.compute_process import ComputeProcess
from kernelwright.evaluate.sandbox.process import USUAL, ProcessOptions
from kernelwright.evaluate.sandbox.spawn import Warm
from kernelwright.evaluate.session.cases import OriginalTask
from kernelwright.evaluate.session.session import Session
from kernelwright.evaluate.session.trial import OutcomeReached, Trial
from kernelwright.languages import names_for
from kernelwright.records.evaluation import BuildFailed, Refused
from kernelwright.records.measure import BuildFacts
from kernelwright.records.policy import Policy
from kernelwright.records.profile import Ceilings, LoopProfile, Profile, compiled
from kernelwright.records.run import Device
from kernelwright.records.task import TaskSource

NO_PROFILER = "target cpu has no device profiler: the compiler's facts and the clock are all there is"


def open_backend(cpu: Callable[[], Host]) -> "CpuBackend":
    """See `table.Row`."""
    return CpuBackend(cpu())


def open_host() -> Host:
    """This machine's CPU, with its warm parent started."""
    warm = parent_of("cpu")
    warm.start()
    return host_of(warm, len(os.sched_getaffinity(0)))


def host_of(warm: Warm, cores: int, timed: bool = True) -> Host:
    """This machine's CPU with a warm parent that has been started."""
    device = Device(
        kind="cpu",
        name=_cpu_name(),
        cores=cores,
        cache_bytes=_last_cache(),
        caches=tuple(level.holds for level in levels() if level.name != "memory"),
        vector_bits=_vector_bits(),
    )
    return Host(warm, device, timed=timed)


class CpuBackend:
    """Implements `Backend`."""

    languages = names_for("cpu")
    is_gpu, most_bytes = False, None

    def __init__(self, host: Host) -> None:
        self.host = host
        self.clock = CpuClock(host)

    def versions(self) -> dict[str, str]:
        """See `Backend.versions`: a GPU's driver does not change what a CPU measures."""
        return {}

    def reference(self, source: TaskSource, policy: Policy, close_oldest: CloseOldest) -> ComputeProcess:
        """See `Backend.reference`."""
        return host_reference(self.host, policy)

    def session(
        self, original: OriginalTask, reference: ComputeProcess, policy: Policy, close_oldest: CloseOldest
    ) -> Session:
        """See `Backend.session`."""
        return Session(original, original.task, reference, policy, HostMemory(original.task, reference, policy))

    def activate(self, session: Session) -> None:
        """Sessions do not get in each other's way."""

    @contextmanager
    def prepared(self, trial: Trial) -> Iterator[BuiltCandidate]:
        """See `Backend.prepared`: a compiler beside somebody's clock would be heard."""
        with self.host.device_lock.shared():
            if BUILDERS[trial.candidate.language].MODULE:
                trial.candidate = next(trial.candidate.points())
                yield BuiltCandidate(None, lambda: load_module(trial, self.host))
                return
            with trial.timed("compile"):
                library = BUILDERS[trial.candidate.language].build(trial.order(self.host.warm))
            if isinstance(library, BuildFailed | Refused):
                raise OutcomeReached(library)
            if not isinstance(library, Library):
                raise RefereeError(
                    f"{trial.candidate.language} builds no shared object, which is what a CPU's process loads"
                )
            trial.found.facts = library.facts
            try:
                yield BuiltCandidate(library.facts, lambda: load_library(trial, self.host, library))
            finally:
                library.close()

    def profile(self, trial: Trial, build: BuildFacts | None) -> Profile:
        """See `Backend.profile`."""
        task, notes = trial.task, [NO_PROFILER]
        with self.host.device_lock:
            ceilings = Ceilings(read_gbps=read_gbps(self.clock.ceiling_gbps, notes))
        loops = self._loops(trial, notes) if not BUILDERS[trial.candidate.language].MODULE else ()
        placed = {"ceilings": ceilings, "bytes": task.workload.compulsory_bytes, "flops": task.graph.flops}
        found = compiled(task.id, trial.candidate.id, self.host.device.name, build)
        return found.model_copy(update={**placed, "loops": loops, "notes": tuple(notes)})

    def _loops(self, trial: Trial, notes: list[str]) -> tuple[LoopProfile, ...]:
        """The innermost loops that the compiler wrote; what cannot be had is a note."""
        if platform.machine() != "x86_64":
            return ()
        try:
            # A compiler beside somebody's clock would be heard.
            with self.host.device_lock.shared():
                return innermost_loops(assembly(trial.order(self.host.warm)))
        except FAILURES as failure:
            notes.append(f"the loops' instructions could not be read: {told(failure)}")
            return ()

    def close(self) -> None:
        """The host is everybody's who works on this CPU."""


def host_reference(host: Host, policy: Policy, options: ProcessOptions = USUAL) -> HostReference:
    """A reference that computes on this machine's cores."""
    return HostReference(host.warm.spawn("reference", reference_jail(policy.memory_bytes * 2)), LIMIT_S, options)


def _cpu_name() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        return platform.processor() or platform.machine()
    return next((line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")), platform.machine())


def _vector_bits() -> int:
    try:
        flags = set(re.findall(r"[a-z0-9_]+", Path("/proc/cpuinfo").read_text()))
    except OSError:
        return 0
    return next(
        (bits for flag, bits in (("avx512f", 512), ("avx2", 256), ("sse2", 128), ("asimd", 128)) if flag in flags), 0
    )


def _last_cache() -> int:
    known = [level for level in levels() if level.name != "memory"]
    return known[-1].holds if known else 0
