"""The court: which machinery judges which task. Keeps sessions, and refreshes them for finals."""

import os
import threading
import time
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path

import torch

from kernelwright.errors import MachineError, RefereeError
from kernelwright.evaluate.pipeline import absent, admit, known_baselines
from kernelwright.evaluate.pipeline.baselines import asked, to_time
from kernelwright.evaluate.pipeline.examine import examine
from kernelwright.evaluate.pipeline.judge import build, judge
from kernelwright.evaluate.pipeline.limits import tightened
from kernelwright.evaluate.pipeline.machine import Machine
from kernelwright.evaluate.pipeline.machine_cuda import CudaMachine
from kernelwright.evaluate.pipeline.profile_build import request_of
from kernelwright.evaluate.pipeline.profile_request import unseen
from kernelwright.evaluate.pipeline.profiling import Profiler
from kernelwright.evaluate.pipeline.session import Session
from kernelwright.evaluate.pipeline.trial import Trial
from kernelwright.evaluate.pipeline.versions import versions
from kernelwright.evaluate.sandbox.jail import LOST, Jail
from kernelwright.evaluate.sandbox.spawn import Warm
from kernelwright.records.admission import Fitness
from kernelwright.records.candidate import Candidate
from kernelwright.records.evaluation import Evaluation, Refused
from kernelwright.records.measure import BuildFacts
from kernelwright.records.policy import Effort, Policy
from kernelwright.records.profile import Profile
from kernelwright.records.run import Environment
from kernelwright.records.task import Target, Task, TaskSource

GPU_MODULES = (
    "torch._dynamo",
    "kernelwright.evaluate.triton.driver",
    "kernelwright.evaluate.triton.rehearsal",
    "kernelwright.evaluate.sides.cross",
    "kernelwright.evaluate.sides.cuda",
    "kernelwright.evaluate.sides.launcher",
    "kernelwright.evaluate.sides.nvrtc",
    "kernelwright.evaluate.sides.reference_cuda",
)
"""Imported once by the GPU's warm parent, so that no child pays for them."""
GPU_ENVIRONMENT = {"TORCHINDUCTOR_COMPILE_THREADS": "1"}
"""Read when torch._dynamo is imported: a confined process has no pool of compilers."""

FREEING_S = 6.0
"""Longest that the device's memory is waited for, in seconds."""
PRESENT = ("triton", "cuda", "cuda_host", "python")
"""Languages of candidates for a GPU that is here."""


class Court:
    """One worker's state: the warm parent, the machine, the open sessions."""

    def __init__(self, note: Callable[[str], None]) -> None:
        self._note = note
        self._machines: dict[str, Machine] = {}
        self._sessions: dict[str, Session] = {}
        self._profilers: dict[str, Profiler] = {}
        self._versions: dict[str, dict[str, str]] = {}
        self._lock = threading.RLock()
        """Held for a look into these, never for a turn: whoever has the turn may take it, not the other way round."""

    def machine(self, target: Target) -> Machine:
        """The machine for a target, examined at the first question.

        Raises:
            MachineError: there is no GPU for target `cuda`.
        """
        kind = "cuda" if target.kind == "cuda" and target.present else "cpu"
        with self._lock:
            if kind not in self._machines:
                self._machines[kind] = _machine(kind)
            return self._machines[kind]

    def admit(self, source: TaskSource, target: Target, policy: Policy) -> Task:
        """Admit a task and keep its session open.

        Raises:
            TaskError: it cannot be judged.
        """
        machine = self.machine(target)
        with machine.turn:
            if policy.isolation == "strict":
                self._must_confine(target)
            self._note("running the reference: inputs, fp64 results, tolerance")
            session = admit.open_session(machine.warm, source, target, policy, self._make_room)
            task = session.presented.task
            if _keeps_baselines(target, policy):
                session.known = known_baselines.load(self._place_of_baselines(task, policy))
            with self._lock:
                before = self._sessions.pop(task.id, None)
                self._sessions[task.id] = session
            if before is not None:
                before.close()
        return task

    def examine(self, source: TaskSource, target: Target, policy: Policy) -> Fitness:
        """Admit a task, look at it closely, and let go of it.

        Raises:
            TaskError: it cannot be judged.
        """
        with self.machine(target).turn:
            task = self.admit(source, target, policy)
            with self._lock:
                session = self._sessions.pop(task.id)
            try:
                self._note("taking the figures of each check")
                return examine(session)
            finally:
                session.close()

    def judge(self, task: Task, candidate: Candidate, policy: Policy, effort: Effort) -> Evaluation:
        """Judge one candidate; a final meets inputs that were drawn for it. Safe to call from several threads."""
        if (refused := _foreign(task.target, candidate)) is not None:
            return refused
        policy = tightened(policy, task.source.limits)
        session = self._session(task, policy)
        compiled = {"compile", "compile_max"} & set(to_time(session, asked(policy, effort, task.target), effort))
        if task.target.present and compiled - set(session.prepared):
            self._note("compiling the torch.compile baselines, once for this task")
        if effort == "final":
            self._note("final: fresh inputs, head to head" if task.target.present else "final: fresh inputs")
        before = dict(session.known)
        found = judge(lambda: self._session(task, policy), self.machine(task.target), candidate, policy, effort)
        if _keeps_baselines(task.target, policy) and session.known != before:
            known_baselines.store(self._place_of_baselines(task, policy), session.known)
        return found

    def build(self, task: Task, candidate: Candidate, policy: Policy) -> Evaluation:
        """What the compiler says of a candidate: `Compiled`, or why not. Safe to call from several threads."""
        if (refused := _foreign(task.target, candidate)) is not None:
            return refused
        return build(self._session(task, policy), self.machine(task.target), candidate, policy)

    def replay(self, task: Task, candidate: Candidate, policy: Policy, seeds: Sequence[int]) -> Evaluation:
        """Right or wrong on the cases of these seeds, which are known already: no time is taken."""
        if (refused := _foreign(task.target, candidate)) is not None:
            return refused
        self._note("the receipt's seeds: the same inputs again")
        machine = self.machine(task.target)
        return judge(lambda: self._session(task, policy), machine, candidate, policy, "replay", seeds)

    def profile(self, task: Task, candidate: Candidate, policy: Policy, build: BuildFacts | None) -> Profile:
        """Where the candidate's time goes, as well as this machine can tell. What it has been judged as plays no part."""
        if not task.target.present:
            return unseen(task, candidate, build)
        session, machine = self._session(task, policy), self.machine(task.target)
        with self._lock:
            profiler = self._profilers.setdefault(
                machine.device.kind, Profiler(machine, partial(versions, task.target))
            )
        request = request_of(Trial(session, machine, candidate, policy), build)
        with machine.turn:
            return profiler.profile(request)

    def environment(self, target: Target) -> Environment:
        """Device with its measured bandwidth, versions, and the sandbox in force."""
        machine = self.machine(target)
        gbps = None
        with machine.turn:
            if target.present:
                self._note("measuring the memory bandwidth")
                gbps = machine.ceiling_gbps(1 << 40)
            denied = self._denied(target)
        return Environment(
            device=machine.device.model_copy(update={"memory_gbps": gbps}),
            versions=versions(target),
            isolation=tuple(part for part in LOST if part not in denied),
            denied=tuple(f"{part}: {LOST[part]}" for part in denied),
        )

    def close(self) -> None:
        """End every child and the warm parent."""
        self._close_sessions()
        for machine in self._machines.values():
            machine.close()

    def _make_room(self, nbytes: int) -> None:
        """Close the sessions of tasks that were not asked for lately, until this much device memory is free."""
        self._machines["cuda"].settle()
        torch.cuda.empty_cache()
        while torch.cuda.mem_get_info()[0] < nbytes:
            with self._lock:
                oldest = next((k for k, s in self._sessions.items() if s.device == "cuda"), None)
                if oldest is None:
                    return
                session = self._sessions.pop(oldest)
            session.close()
            _wait_for_memory()

    def _close_sessions(self) -> None:
        for session in self._sessions.values():
            session.close()
        self._sessions.clear()

    def _place_of_baselines(self, task: Task, policy: Policy) -> Path:
        """Where what is known of a task's baselines lies."""
        target = task.target
        with self._lock:
            if target.kind not in self._versions:
                self._versions[target.kind] = versions(target)
        return known_baselines.place(task, self.machine(target).device, self._versions[target.kind], policy)

    def _must_confine(self, target: Target) -> None:
        lost = "; ".join(f"{part}, so that {LOST[part]}" for part in self._denied(target))
        if lost:
            raise MachineError(
                f"isolation is strict, and this host denies {lost}. Allow user namespaces, mounts, Landlock and seccomp "
                "(in a container: no seccomp profile of the engine's, and CAP_SYS_ADMIN), or judge with isolation auto "
                "kernels that you trust."
            )

    def _denied(self, target: Target) -> tuple[str, ...]:
        """What a candidate's process would have to do without on this host."""
        child = self.machine(target).warm.spawn("tool", Jail(directory="/"))
        child.close()
        return child.denied

    def _session(self, task: Task, policy: Policy) -> Session:
        """The task's open session. Its facts are there at once, its cases for whoever has the machine's turn."""
        if (found := self._opened(task)) is not None:
            return found
        with self.machine(task.target).turn:
            # Another thread may have had its turn first.
            while (found := self._opened(task)) is None:
                admitted = self.admit(task.source, task.target, policy)
                if admitted.id != task.id:
                    raise RefereeError(
                        f"the task {task.name!r} is not what it was when the run began: torch or the domains have "
                        "changed. Start a new run."
                    )
            return found

    def _opened(self, task: Task) -> Session | None:
        with self._lock:
            if task.id in self._sessions:
                # The order of this dict is that of use.
                self._sessions[task.id] = self._sessions.pop(task.id)
            return self._sessions.get(task.id)


def _keeps_baselines(target: Target, policy: Policy) -> bool:
    """Whether baselines of earlier runs may stand for today's in a search."""
    return target.kind == "cuda" and target.present and policy.cached_baselines and not policy.disabled


def _machine(kind: str) -> Machine:
    if kind == "cuda" and not torch.cuda.is_available():
        raise MachineError("torch sees no GPU; use --target cpu, or --target sm_90 to compile for one")
    # Triton reads TRITON_INTERPRET when it is imported, so only the GPU's children are born with it.
    warm = Warm(modules=GPU_MODULES, environment=GPU_ENVIRONMENT) if kind == "cuda" else Warm()
    warm.start()
    cores = len(os.sched_getaffinity(0))
    return CudaMachine(warm, cores) if kind == "cuda" else Machine(warm, cores)


def _wait_for_memory() -> None:
    """Until what ended has given its memory back: a process is gone before its last thread has freed the device's."""
    torch.cuda.empty_cache()
    free, last = -1, time.monotonic() + FREEING_S
    while free != (free := torch.cuda.mem_get_info()[0]) and time.monotonic() < last:
        time.sleep(FREEING_S / 20)


def languages(target: Target) -> tuple[str, ...]:
    """What candidates for a target may be written in."""
    if target.kind == "cpu":
        return ("cpp",)
    return PRESENT if target.present else absent.LANGUAGES


def _foreign(target: Target, candidate: Candidate) -> Refused | None:
    """Why a candidate in this language is not for this target."""
    taken = languages(target)
    if candidate.language in taken:
        return None
    names = " or ".join(taken)
    return Refused(reason=f"target {target.name} takes {names} candidates, not {candidate.language}")
