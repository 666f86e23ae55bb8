"""Profiling one candidate, tier by tier: the compiler's facts, a trace, hardware counters. Nothing here ends a run.

Decides in which jail a profiler may work: the full one first, then with fewer parts, which the profile says. Foreign host
code never gets the referee's user. A profile advises whoever proposes next; no verdict rests on it.
"""

import os
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import torch

import kernelwright
from kernelwright.errors import KernelwrightError, MachineError
from kernelwright.evaluate.compile.program import Program
from kernelwright.evaluate.pipeline.machine import Machine
from kernelwright.evaluate.profile import ceiling_cache, ncu, ncu_output, trace
from kernelwright.evaluate.profile.launches import Sum, chip_of, declared, with_counters
from kernelwright.evaluate.sandbox.child import ChildGoneError, ChildSlowError
from kernelwright.evaluate.sandbox.contestant import ChildRaisedError, Contestant, TamperedError
from kernelwright.evaluate.sandbox.jail import Jail
from kernelwright.evaluate.sandbox.wire import Message
from kernelwright.knowledge.hardware import hardware
from kernelwright.records.candidate import Candidate
from kernelwright.records.measure import BuildFacts
from kernelwright.records.policy import Policy
from kernelwright.records.profile import Ceilings, KernelProfile, Profile, compiled
from kernelwright.records.task import Task

TRACE_LIMIT_S = 120.0
FAILURES = (
    ChildGoneError, ChildSlowError, ChildRaisedError, TamperedError, KernelwrightError, OSError, KeyError, TypeError,
    ValueError,
)  # fmt: skip
"""Whatever a profiled process, or our reading of it, can come to."""


@dataclass(frozen=True)
class Rung:
    """A jail to try a profiler in."""

    off: tuple[str, ...]
    """Parts that are left out."""
    words: str
    foreign: bool
    """Whether a candidate's own host code may run in it; device code alone makes no system call."""


LADDER = (
    Rung((), "", foreign=True),
    Rung(("limits",), "without limits on memory and processes", foreign=True),
    Rung(("limits", "namespaces"), "in the referee's network and process namespaces", foreign=True),
    Rung(("limits", "namespaces", "seccomp"), "without a filter of system calls", foreign=True),
    Rung(("limits", "namespaces", "seccomp", "nobody"), "as the referee's own user", foreign=False),
)
"""From the full jail to the weakest; a machine remembers the first in which ncu counts."""


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

    def order(self) -> Message:
        """What the profiled process is told."""
        told: Message = {"kind": "module", "workload": self.task.workload.model_dump(mode="json")}
        if self.program is not None:
            plan = self.program.plans[self.plan].model_dump(mode="json")
            return {**told, "kind": "program", "plan": plan, "modules": len(self.program.modules)}
        if self.library is not None:
            size = self.candidate.workspace_bytes
            return {**told, "kind": "library", "entry": self.candidate.entry, "workspace_bytes": size}
        return {**told, "candidate": self.candidate.model_dump(mode="json"), "init": self.init}

    def binaries(self) -> tuple[bytes, ...]:
        """Files that go with the order."""
        if self.program is not None:
            return self.program.modules
        return (self.library,) if self.library is not None else ()

    def own(self) -> frozenset[str]:
        """Names of the candidate's own kernels."""
        return declared(self.candidate, self.program.plans[self.plan] if self.program is not None else None)

    @property
    def runnable(self) -> bool:
        """Whether there is something to run: the languages of CUDA C++ need what was built of them."""
        built = self.program is not None or self.library is not None
        return self.task.target.kind == "cuda" and (built or self.candidate.language in ("triton", "python"))


def unseen(task: Task, candidate: Candidate, build: BuildFacts | None) -> Profile:
    """For a device that is not here: the compiler's facts beside the vendor's figures."""
    facts = hardware(task.target.arch)
    published = Ceilings(
        origin="published",
        read_gbps=facts.bandwidth_gbps,
        fp32_tflops=facts.fp32_tflops,
        tf32_tflops=facts.tf32_tflops,
        bf16_tflops=facts.bf16_tflops,
    )
    note = f"{task.target.arch} is not here: nothing was run, and ceilings are published ones of {facts.device}"
    placed = {"bytes": task.workload.compulsory_bytes, "flops": task.graph.flops, "ceilings": published}
    placed["multiprocessors"] = facts.multiprocessors
    return compiled(task.id, candidate.id, task.target.arch, build, note).model_copy(update=placed)


class Profiler:
    """One machine's profilers: what works on it is found out once."""

    def __init__(
        self, machine: Machine, versions: Callable[[], dict[str, str]], ladder: Sequence[Rung] = LADDER
    ) -> None:
        self._machine, self._versions, self._ladder = machine, versions, ladder
        self._rung = 0
        self._unknown: frozenset[str] = frozenset()
        self._no_counters = ""
        self._ceilings: Ceilings | None = None

    def profile(self, request: Request) -> Profile:
        """The best profile that this machine allows; the lowest tier, with the reason, where nothing works."""
        task, notes = request.task, list[str]()
        found = compiled(task.id, request.candidate.id, self._machine.device.name, request.build)
        traced: tuple[KernelProfile, ...] = ()
        counted: tuple[KernelProfile, ...] = ()
        if self._machine.device.kind == "cuda" and request.runnable:
            traced = self._tried("trace", notes, lambda: self._traced(request))
            counted = self._tried("counters", notes, lambda: self._counted(request, notes))
        elif task.target.kind == "cpu":
            notes.append("target cpu has no device profiler: the compiler's facts and the clock are all there is")
        else:
            notes.append(f"no {request.candidate.language} candidate is run here under a profiler without its binary")
        kernels = with_counters(traced, counted) if traced and counted else traced or counted
        placed = {
            "ceilings": self.ceilings(notes), "bytes": task.workload.compulsory_bytes, "flops": task.graph.flops,
            "notes": tuple(notes), "multiprocessors": self._machine.device.cores if task.target.kind == "cuda" else None,
        }  # fmt: skip
        if not kernels:
            return found.model_copy(update=placed)
        device_us = sum(k.duration_us or 0.0 for k in kernels) or None
        seen = {"tier": "counters" if counted else "trace", "kernels": _with_spills(kernels, request.build)}
        return found.model_copy(update={**placed, **seen, "device_us": device_us})

    def ceilings(self, notes: list[str]) -> Ceilings:
        """Measured once, and kept on disk; read bandwidth is always that of this run."""
        if self._ceilings is None:
            read = self._machine.ceiling_gbps(1 << 40)
            rates = self._rates(notes) if self._machine.device.kind == "cuda" else Ceilings()
            self._ceilings = rates.model_copy(update={"read_gbps": read})
        return self._ceilings

    def _rates(self, notes: list[str]) -> Ceilings:
        file = ceiling_cache.place(self._machine.device.name, self._versions())
        known = ceiling_cache.load(file)
        if known is not None:
            return known
        try:
            with _opened(self._machine, self._jail(LADDER[0]), TRACE_LIMIT_S) as child:
                answer = child.ask({"do": "rates"})
            notes += [str(n) for n in answer.get("notes", ())]
            known = Ceilings.model_validate({n: v for n, v in answer.items() if n in Ceilings.model_fields})
        except FAILURES as failure:
            notes.append(f"the device's rates could not be measured: {_words(failure)}")
            return Ceilings()
        ceiling_cache.store(file, known)
        return known

    def _tried(
        self, what: str, notes: list[str], run: Callable[[], tuple[KernelProfile, ...]]
    ) -> tuple[KernelProfile, ...]:
        try:
            return run()
        except FAILURES as failure:
            notes.append(f"no {what}: {_words(failure)}")
            return ()

    def _traced(self, request: Request) -> tuple[KernelProfile, ...]:
        with _opened(self._machine, self._jail(self._ladder[0]), TRACE_LIMIT_S) as child:
            _prepare(child, request)
            answer = child.ask({"do": "trace"})
        return self._sum(request, max(1, int(answer["calls"]))).kernels(trace.seen_in(answer["events"]))

    def _counted(self, request: Request, notes: list[str]) -> tuple[KernelProfile, ...]:
        """Counters from the strongest jail in which there are any."""
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
        return [(i, r) for i, r in rungs if r.foreign or request.program is not None]

    def _run_ncu(self, tool: str, rung: Rung, request: Request) -> ncu_output.Output:
        """One profiled run; again without the metrics that this chip turns out not to know."""
        try:
            for _ in range(ncu.TRIES):
                with _opened(self._machine, self._jail(rung), ncu.LIMIT_S) as child:
                    _must_be_nobody(child, rung, request)
                    _prepare(child, request)
                    argv = ncu.command(tool, (), _capability(), self._unknown)
                    answer = child.ask({"do": "count", "argv": argv, "log": ncu.LOG})
                output = ncu_output.read(f"{answer['written']}\n{answer['said']}")
                if not output.unknown - self._unknown:
                    break
                self._unknown |= output.unknown
        except FAILURES as failure:
            return ncu_output.Output((), False, False, frozenset(), _words(failure))
        return output

    def _jail(self, rung: Rung) -> Jail:
        path = os.pathsep.join(p for p in sys.path if p)
        return Jail(
            directory="/",
            # A started interpreter looks our package up in the folder that it lies in.
            readable=(str(Path(kernelwright.__file__).parents[1]),),
            may_execute=True,
            memory_bytes=1 << 40,
            tmpfs_bytes=1 << 30,
            loopback=True,
            off=rung.off,
            environment={"PYTHONPATH": path, "LC_ALL": "C", "PATH": "/usr/local/cuda/bin:/usr/bin:/bin"},
        )

    def _sum(self, request: Request, calls: int) -> Sum:
        return Sum(request.own(), calls, chip_of(request.task.target.arch, self._machine.device.cores))


class _opened:  # noqa: N801 (a context manager)
    """A single-use child of the side `profiled`, closed whatever happens."""

    def __init__(self, machine: Machine, jail: Jail, limit_s: float) -> None:
        self._machine, self._jail, self._limit_s = machine, jail, limit_s

    def __enter__(self) -> Contestant:
        self._child = Contestant(self._machine.warm.spawn("profiled", self._jail), self._limit_s)
        # Its own tools work on while it waits for them; nothing is timed.
        self._child.freeze = False
        return self._child

    def __exit__(self, *_: object) -> None:
        self._child.close()


def _must_be_nobody(child: Contestant, rung: Rung, request: Request) -> None:
    """A part that was left out may cost another: foreign host code never runs as the referee's user for a profile."""
    if rung.off and "nobody" in child.child.denied and request.program is None:
        raise MachineError(f"{rung.words}, this host would run foreign code as the referee's own user")


def _prepare(child: Contestant, request: Request) -> None:
    descriptors = [_file(image) for image in request.binaries()]
    try:
        child.ask({"do": "prepare", "order": request.order()}, descriptors)
    finally:
        for descriptor in descriptors:
            os.close(descriptor)


def _file(image: bytes) -> int:
    descriptor = os.memfd_create("binary", os.MFD_CLOEXEC)
    with os.fdopen(os.dup(descriptor), "wb") as file:
        file.write(image)
    return descriptor


def _with_spills(kernels: Sequence[KernelProfile], build: BuildFacts | None) -> tuple[KernelProfile, ...]:
    """Spills are the compiler's to tell: no profiler counts them before they are executed."""
    facts = {k.name: k.spill_bytes for k in build.kernels} if build else {}
    return tuple(k.model_copy(update={"spill_bytes": facts[k.name]}) if k.name in facts else k for k in kernels)


def _capability() -> tuple[int, int]:
    major, minor = torch.cuda.get_device_capability()
    return major, minor


def _words(failure: BaseException) -> str:
    if isinstance(failure, ChildSlowError):
        return "it did not end in time"
    log = str(getattr(failure, "log", "")).strip().splitlines()
    told = str(failure).splitlines()[0] if str(failure) else type(failure).__name__
    return f"{told} {log[-1] if log else ''}".strip()[:400]
