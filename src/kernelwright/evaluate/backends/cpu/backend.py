"""This machine's cores: C++ candidates, inputs in shared memory, the grader's clock outside the process."""

import os
import platform
import re
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

from kernelwright.errors import RefereeError
from kernelwright.evaluate.backends.backend import CloseOldest, Loaded, Prepared, Reference
from kernelwright.evaluate.backends.cpu.clock import CpuClock, levels
from kernelwright.evaluate.backends.cpu.memory import HostMemory
from kernelwright.evaluate.backends.cpu.module import eager_again, loaded_module
from kernelwright.evaluate.backends.cpu.process import CppCandidateProcess, Loading
from kernelwright.evaluate.backends.host import Host
from kernelwright.evaluate.backends.instruments import Instruments
from kernelwright.evaluate.backends.parents import parent_of
from kernelwright.evaluate.backends.profiles import FAILURES, read_gbps, told
from kernelwright.evaluate.backends.reference import LIMIT_S, reference_jail
from kernelwright.evaluate.languages.artifact import Library
from kernelwright.evaluate.languages.cpp.build import assembly
from kernelwright.evaluate.languages.table import BUILDERS
from kernelwright.evaluate.profile.assembly import innermost_loops
from kernelwright.evaluate.sandbox.candidate_process import CandidateProcess
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

WITHOUT = Instruments(
    absent={
        "ablation": "a C++ candidate is one function: it has no launches to leave out",
        "own_share": "a C++ candidate runs on no device of its own",
        "memcheck": "compute-sanitizer looks at GPUs",
        "racecheck": "compute-sanitizer looks at GPUs",
    }
)
WITHOUT_LAUNCHES = Instruments(absent=dict.fromkeys(WITHOUT.absent, "it runs on no device of its own"))
NO_PROFILER = "target cpu has no device profiler: the compiler's facts and the clock are all there is"


def open_backend(cpu: Callable[[], Host]) -> "CpuBackend":
    """See `table.Row`."""
    return CpuBackend(cpu())


def open_host() -> Host:
    """This machine's CPU, with its warm parent started."""
    warm = parent_of("cpu")
    warm.start()
    return host_of(warm, len(os.sched_getaffinity(0)))


def host_of(warm: Warm, cores: int) -> Host:
    """This machine's CPU with a warm parent that has been started."""
    device = Device(
        kind="cpu",
        name=_cpu_name(),
        cores=cores,
        cache_bytes=_last_cache(),
        caches=tuple(level.holds for level in levels() if level.name != "memory"),
        vector_bits=_vector_bits(),
    )
    return Host(warm, device)


class CpuBackend:
    """Implements `Backend`."""

    languages = names_for("cpu")
    is_gpu = False

    def __init__(self, host: Host) -> None:
        self.host = host
        self.clock = CpuClock(host)

    def versions(self) -> dict[str, str]:
        """See `Backend.versions`: a GPU's driver does not change what a CPU measures."""
        return {}

    def reference(self, policy: Policy) -> Reference:
        """See `Backend.reference`."""
        process = reference_process(self.host, policy)

        def opened(original: OriginalTask, close_oldest: CloseOldest) -> Session:
            with ExitStack() as held:
                memory = HostMemory(original.task, process, policy)
                held.callback(memory.close)
                session = Session(original, original.task, process, policy, memory)
                held.pop_all()
            return session

        return Reference(process, opened)

    def activate(self, session: Session) -> None:
        """Sessions do not get in each other's way."""

    @contextmanager
    def prepared(self, trial: Trial) -> Iterator[Prepared]:
        """See `Backend.prepared`: a compiler beside somebody's clock would be heard."""
        with self.host.device_lock.shared():
            if BUILDERS[trial.candidate.language].MODULE:
                trial.candidate = next(trial.candidate.points())
                yield Prepared(None, lambda: loaded_module(trial, self.host, lambda: WITHOUT_LAUNCHES))
                return
            with trial.timed("compile"):
                library = BUILDERS[trial.candidate.language].build(trial.order(self.host.warm))
            if isinstance(library, BuildFailed | Refused):
                raise OutcomeReached(library)
            if not isinstance(library, Library):
                raise RefereeError(
                    f"{trial.candidate.language} builds no shared object, which is what a CPU's process loads"
                )
            trial.facts = library.facts
            try:
                yield Prepared(library.facts, lambda: self._loaded(trial, library))
            finally:
                library.close()

    @contextmanager
    def _loaded(self, trial: Trial, library: Library) -> Iterator[Loaded]:
        with trial.timed("load"):
            process = self._process(trial, library)
        try:
            yield Loaded(
                process,
                library.facts,
                again=lambda case: self._process(trial, library, private=True),
                eager_again=lambda: eager_again(trial, self.host),
                instruments=lambda: WITHOUT,
            )
        finally:
            process.close()

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

    def _process(self, trial: Trial, library: Library, private: bool = False) -> CppCandidateProcess:
        """The candidate in a new process; `private`: with inputs that may be written to.

        Raises:
            OutcomeReached: this host cannot confine it as strictly as the policy wants.
            as `CandidateProcess.ask`.
        """
        session, disabled = trial.session, trial.policy.disabled
        child = self.host.warm.spawn("cpp", trial.jail())
        process = CppCandidateProcess(child, trial.policy.run_limit_s, session.task.workload.outputs)
        process.freeze = "freeze" not in disabled
        process.serials = "honest_reply" not in disabled
        process.own_memory = "own_memory" not in disabled
        how = Loading(trial.candidate.entry, self.host.device.cores, trial.candidate.workspace_bytes, private)
        try:
            if child.denied and trial.policy.isolation == "strict":
                reason = f"the host denies {', '.join(child.denied)}, and isolation is strict"
                raise OutcomeReached(Refused(reason=reason))
            process.load(session.share(), library.descriptor, how)
        except BaseException:
            process.close()
            raise
        return process


def reference_process(host: Host, policy: Policy) -> CandidateProcess:
    """A reference that computes on this machine's cores."""
    return CandidateProcess(host.warm.spawn("reference", reference_jail(policy.memory_bytes * 2)), LIMIT_S)


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
