"""Profiling one candidate, tier by tier: the compiler's facts, a trace, hardware counters. Nothing here ends a run.

A profile says what it lacks and in which jail it was taken. It advises whoever proposes next; no verdict rests on it.
"""

import os
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import torch
from pydantic import TypeAdapter

from kernelwright import version
from kernelwright.errors import KernelwrightError, MachineError
from kernelwright.evaluate.backends import kept
from kernelwright.evaluate.backends.cuda.machine import CudaMachine
from kernelwright.evaluate.backends.cuda.preparation import built
from kernelwright.evaluate.backends.host import FAILURES, Host, read_gbps, told
from kernelwright.evaluate.languages.builder import Dynamic, Library, Program
from kernelwright.evaluate.languages.table import BUILDERS
from kernelwright.evaluate.profile import ncu, ncu_output
from kernelwright.evaluate.profile.launches import Sum, chip_of, declared, seen_in, with_counters
from kernelwright.evaluate.sandbox.child import ChildGoneError, ChildSlowError
from kernelwright.evaluate.sandbox.jail import Jail
from kernelwright.evaluate.sandbox.messages.tools import (
    CountUnder,
    LibrarySubject,
    MeasureRates,
    ModuleSubject,
    PrepareProfile,
    ProfileOrder,
    ProgramSubject,
    Trace,
    Traced,
)
from kernelwright.evaluate.sandbox.process import ChildRaisedError, Process, ProcessOptions, TamperedError
from kernelwright.evaluate.sandbox.spawn import Warm
from kernelwright.evaluate.session.trial import OutcomeReached, Trial
from kernelwright.pages import cache_folder
from kernelwright.records.base import identity
from kernelwright.records.candidate import Candidate
from kernelwright.records.measure import BuildFacts
from kernelwright.records.policy import Policy
from kernelwright.records.profile import Ceilings, KernelProfile, Profile, compiled
from kernelwright.records.task import Task

UNBUILT = (OutcomeReached, ChildGoneError, ChildSlowError, ChildRaisedError, TamperedError, KernelwrightError, OSError)
"""Whatever a build can come to."""


@dataclass(frozen=True)
class Request:
    """What is to be profiled."""

    task: Task
    candidate: Candidate
    policy: Policy = field(default_factory=Policy)
    init: str = ""
    """The task's file as a candidate's process may see it: its constructor arguments."""
    build: BuildFacts | None = None
    program: Program | None = None
    """Device code with plans: host code is ours."""
    plan: int = 0
    """Which of the program's plans was the fastest."""
    library: bytes | None = None
    """A shared object with the candidate's own host code."""
    fault: str = ""
    """Why there is nothing to run."""

    def subject(self) -> ModuleSubject | LibrarySubject | ProgramSubject:
        """What the profiled process is told to call."""
        workload, candidate = self.task.workload, self.candidate
        if self.program is not None:
            plan, modules = self.program.plans[self.plan], len(self.program.modules)
            return ProgramSubject(workload=workload, plan=plan, modules=modules)
        if self.library is not None:
            size = candidate.workspace_bytes
            return LibrarySubject(workload=workload, entry=candidate.entry, workspace_bytes=size)
        return ModuleSubject(workload=workload, candidate=candidate, init=self.init)

    def binaries(self) -> tuple[bytes, ...]:
        """Files that go with the subject."""
        if self.program is not None:
            return self.program.modules
        return (self.library,) if self.library is not None else ()

    def own(self) -> frozenset[str]:
        """Names of the candidate's own kernels."""
        return declared(self.candidate, self.program.plans[self.plan] if self.program is not None else None)

    @property
    def runnable(self) -> bool:
        """Whether there is something to run: the languages of CUDA C++ need what was built of them."""
        if self.fault:
            return False
        built = self.program is not None or self.library is not None
        return built or BUILDERS[self.candidate.language].MODULE


def request_of(trial: Trial, build: BuildFacts | None, machine: CudaMachine) -> Request:
    """What to profile of a candidate; `build` says which of its plans was the fastest, where it has been judged."""
    init = trial.session.original.init_source()
    request = Request(trial.task, trial.candidate, trial.policy, init, build)
    try:
        made = built(trial, machine)
    except UNBUILT as failure:
        return replace(request, fault=f"it could not be built for a profile: {failure}"[:400])
    if isinstance(made, Library):
        return _with_library(made, request)
    if isinstance(made, Dynamic):
        return request
    chosen = build.chosen if build is not None else ""
    plan = next((i for i, p in enumerate(made.plans) if p.label == chosen), 0)
    return replace(request, build=build or made.facts, program=made, plan=plan)


def _with_library(library: Library, request: Request) -> Request:
    try:
        image = os.pread(library.descriptor, os.fstat(library.descriptor).st_size, 0)
    finally:
        library.close()
    return replace(request, build=request.build or library.facts, library=image)


PACKAGE = (str(Path(version.__file__).parents[1]),)
"""What a started interpreter must be able to read: the folder that our package lies in."""


def importing() -> dict[str, str]:
    """Environment in which a started interpreter finds what this one finds, installed or not."""
    return {"PYTHONPATH": os.pathsep.join(p for p in sys.path if p)}


@dataclass(frozen=True)
class Rung:
    """A jail to try a profiler in."""

    off: tuple[str, ...]
    """Parts that are left out."""
    words: str
    untrusted: bool
    """Whether a candidate's own host code may run in it; device code alone makes no system call."""


LADDER = (
    Rung((), "", untrusted=True),
    Rung(("limits",), "without limits on memory and processes", untrusted=True),
    Rung(("limits", "namespaces"), "in the referee's network and process namespaces", untrusted=True),
    Rung(("limits", "namespaces", "seccomp"), "without a filter of system calls", untrusted=True),
    Rung(("limits", "namespaces", "seccomp", "nobody"), "as the referee's own user", untrusted=False),
)
"""From the full jail to the weakest; a machine remembers the first in which ncu counts."""


def jail(rung: Rung) -> Jail:
    """The confinement of a profiled process and of the tool beside it."""
    return Jail(
        directory="/",
        readable=PACKAGE,
        may_execute=True,
        memory_bytes=1 << 40,
        tmpfs_bytes=1 << 30,
        loopback=True,
        off=rung.off,
        environment={**importing(), "LC_ALL": "C", "PATH": "/usr/local/cuda/bin:/usr/bin:/bin"},
    )


class Opened:
    """A single-use child of the side `profiled`, closed whatever happens."""

    def __init__(self, warm: Warm, rung: Rung, limit_s: float) -> None:
        self._warm, self._rung, self._limit_s = warm, rung, limit_s

    def __enter__(self) -> Process:
        # Its own tools work on while it waits for them; nothing is timed.
        options = ProcessOptions(freeze=False)
        self._child = Process(self._warm.spawn("profiled", jail(self._rung)), self._limit_s, options)
        return self._child

    def __exit__(self, *_: object) -> None:
        self._child.close()


def must_be_nobody(child: Process, rung: Rung, request: Request) -> None:
    """A part that was left out may cost another: untrusted host code never runs as the referee's user for a profile.

    Raises:
        MachineError: it would.
    """
    if rung.off and "nobody" in child.child.denied and request.program is None:
        raise MachineError(f"{rung.words}, this host would run foreign code as the referee's own user")


def prepare(child: Process, request: Request, traces: bool = False) -> None:
    """Hand the order and the binaries over; `traces` has a started target trace itself.

    Raises:
        as `Process.ask`.
    """
    descriptors = [_file(image) for image in request.binaries()]
    try:
        child.ask(PrepareProfile(order=ProfileOrder(subject=request.subject(), trace=traces), files=descriptors))
    finally:
        for descriptor in descriptors:
            os.close(descriptor)


def _file(image: bytes) -> int:
    descriptor = os.memfd_create("binary", os.MFD_CLOEXEC)
    with os.fdopen(os.dup(descriptor), "wb") as file:
        file.write(image)
    return descriptor


TRACE_LIMIT_S = 120.0
TRACE_LOG = "traced.json"


class Profiler:
    """One GPU's profilers: what works on it is found out once."""

    def __init__(
        self,
        host: Host,
        ceiling_gbps: Callable[[int], float],
        versions: Callable[[], dict[str, str]],
        ladder: Sequence[Rung] = LADDER,
    ) -> None:
        self._host, self._ceiling_gbps, self._versions, self._ladder = host, ceiling_gbps, versions, ladder
        self._rung = 0
        self._unknown: frozenset[str] = frozenset()
        self._no_counters = ""
        self._forks_trace = False
        self._ceilings: Ceilings | None = None

    def profile(self, request: Request) -> Profile:
        """The best profile that this machine allows; the lowest tier, with the reason, where nothing works."""
        task, notes = request.task, list[str]()
        found = compiled(task.id, request.candidate.id, self._host.device.name, request.build)
        traced: tuple[KernelProfile, ...] = ()
        counted: tuple[KernelProfile, ...] = ()
        if request.runnable:
            traced = self._tried("trace", notes, lambda: self._traced(request))
            counted = self._tried("counters", notes, lambda: self._counted(request, notes))
        elif request.fault:
            notes.append(request.fault)
        else:
            notes.append(f"no {request.candidate.language} candidate is run here under a profiler without its binary")
        kernels = with_counters(traced, counted) if traced and counted else traced or counted
        placed = {
            "ceilings": self.ceilings(notes), "bytes": task.workload.compulsory_bytes, "flops": task.graph.flops,
            "notes": tuple(notes), "multiprocessors": self._host.device.cores,
        }  # fmt: skip
        if not kernels:
            return found.model_copy(update=placed)
        device_us = sum(k.duration_us or 0.0 for k in kernels) or None
        seen = {"tier": "counters" if counted else "trace", "kernels": _with_spills(kernels, request.build)}
        return found.model_copy(update={**placed, **seen, "device_us": device_us})

    def ceilings(self, notes: list[str]) -> Ceilings:
        """Measured once, and kept on disk; read bandwidth is always that of this run."""
        if self._ceilings is None:
            read = read_gbps(self._ceiling_gbps, notes)
            if read is None:
                return Ceilings()
            self._ceilings = self._rates(notes).model_copy(update={"read_gbps": read})
        return self._ceilings

    def _rates(self, notes: list[str]) -> Ceilings:
        file = _place(self._host.device.name, self._versions())
        known = kept.read(_CEILINGS, file)
        if known is not None:
            return known
        try:
            with Opened(self._host.warm, LADDER[0], TRACE_LIMIT_S) as child:
                rates = child.ask(MeasureRates())
            notes += rates.notes
            known = Ceilings.model_validate(rates.model_dump(exclude={"notes"}))
        except FAILURES as failure:
            notes.append(f"the device's rates could not be measured: {told(failure)}")
            return Ceilings()
        kept.keep(_CEILINGS, file, known)
        return known

    def _tried(
        self, what: str, notes: list[str], run: Callable[[], tuple[KernelProfile, ...]]
    ) -> tuple[KernelProfile, ...]:
        try:
            return run()
        except FAILURES as failure:
            notes.append(f"no {what}: {told(failure)}")
            return ()

    def _traced(self, request: Request) -> tuple[KernelProfile, ...]:
        """A trace from a forked child, in milliseconds; from an interpreter of its own where no fork was ever traced."""
        try:
            traced = self._trace_in_fork(request)
            self._forks_trace = True
        except FAILURES:
            if self._forks_trace:
                raise
            traced = self._trace_in_new(request)
        return self._sum(request, traced.calls).kernels(seen_in(traced.activities))

    def _trace_in_fork(self, request: Request) -> Traced:
        with Opened(self._host.warm, self._ladder[0], TRACE_LIMIT_S) as child:
            prepare(child, request)
            return child.ask(Trace())

    def _trace_in_new(self, request: Request) -> Traced:
        with Opened(self._host.warm, self._ladder[0], TRACE_LIMIT_S) as child:
            prepare(child, request, traces=True)
            counted = child.ask(CountUnder(argv=(), log=TRACE_LOG))
        if not counted.written:
            raise TamperedError(counted.said.strip().splitlines()[-1] if counted.said.strip() else "no trace")
        return Traced.model_validate_json(counted.written)

    def _counted(self, request: Request, notes: list[str]) -> tuple[KernelProfile, ...]:
        """Counters from the strongest jail in which there are any."""
        if not request.policy.counters:
            notes.append("no counters: the policy asks for none")
            return ()
        tool = ncu.find()
        if tool is None:
            self._no_counters = "ncu is not installed; it comes with the CUDA toolkit (nsight-compute)"
        if tool is None or self._no_counters:
            notes.append(f"no counters: {self._no_counters}")
            return ()
        reason = ""
        for index, rung in self._allowed(request):
            output = self._run_ncu(tool, rung, request)
            reason = ncu.refusal(output)
            if not reason:
                self._rung = index
                if rung.words:
                    notes.append(f"counters were taken {rung.words}")
                seen = ncu.seen_in(output, _capability(), self._unknown)
                return self._sum(request, 1).kernels(seen)
        if reason in (ncu.DENIED, ncu.BUSY):
            self._no_counters = reason
        notes.append(f"no counters: {reason}")
        return ()

    def _allowed(self, request: Request) -> list[tuple[int, Rung]]:
        rungs = [(i, r) for i, r in enumerate(self._ladder) if i >= self._rung]
        if request.policy.isolation == "strict":
            return [(i, r) for i, r in rungs if not r.off]
        return [(i, r) for i, r in rungs if r.untrusted or request.program is not None]

    def _run_ncu(self, tool: str, rung: Rung, request: Request) -> ncu_output.Output:
        """One profiled run; again without the metrics that this chip turns out not to know."""
        try:
            for _ in range(ncu.TRIES):
                with Opened(self._host.warm, rung, ncu.LIMIT_S) as child:
                    must_be_nobody(child, rung, request)
                    prepare(child, request)
                    argv = ncu.command(tool, (), _capability(), self._unknown)
                    counted = child.ask(CountUnder(argv=argv, log=ncu.LOG))
                output = ncu_output.read(f"{counted.written}\n{counted.said}")
                lacking = output.unknown | ncu.unanswered(output, _capability(), self._unknown)
                if not lacking - self._unknown:
                    break
                self._unknown |= lacking
        except FAILURES as failure:
            return ncu_output.Output((), False, False, frozenset(), told(failure))
        return output

    def _sum(self, request: Request, calls: int) -> Sum:
        return Sum(request.own(), calls, chip_of(request.task.target.arch, self._host.device.cores))


def _with_spills(kernels: Sequence[KernelProfile], build: BuildFacts | None) -> tuple[KernelProfile, ...]:
    """Spills are the compiler's to tell: no profiler counts them before they are executed."""
    facts = {k.name: k.spill_bytes for k in build.kernels} if build else {}
    return tuple(k.model_copy(update={"spill_bytes": facts[k.name]}) if k.name in facts else k for k in kernels)


def _capability() -> tuple[int, int]:
    major, minor = torch.cuda.get_device_capability()
    return major, minor


FORM = 1
"""Raised whenever ceilings are measured in another way."""
_CEILINGS: TypeAdapter[Ceilings] = TypeAdapter(Ceilings)


def _place(device: str, versions: Mapping[str, str]) -> Path:
    """The file for a device and the versions that can change its rates."""
    key = identity("ceilings", {"form": FORM, "device": device, "versions": dict(versions)})
    return cache_folder() / f"ceilings-{key}.json"
