"""The court: which machinery judges which task. Keeps sessions, and refreshes them for finals."""

import os
from collections.abc import Callable, Sequence

import torch

from kernelwright.errors import MachineError, RefereeError
from kernelwright.evaluate.pipeline import admit
from kernelwright.evaluate.pipeline.examine import examine
from kernelwright.evaluate.pipeline.judge import judge
from kernelwright.evaluate.pipeline.machine import Machine
from kernelwright.evaluate.pipeline.machine_cuda import CudaMachine
from kernelwright.evaluate.pipeline.session import Session
from kernelwright.evaluate.pipeline.versions import versions
from kernelwright.evaluate.sandbox.jail import LOST, Jail
from kernelwright.evaluate.sandbox.spawn import Warm
from kernelwright.records.admission import Fitness
from kernelwright.records.candidate import Candidate
from kernelwright.records.evaluation import Evaluation, Refused
from kernelwright.records.policy import Effort, Policy
from kernelwright.records.run import Environment
from kernelwright.records.task import Target, Task, TaskSource

GPU_MODULES = ("triton", "torch._dynamo", "kernelwright.evaluate.triton.driver")
"""Imported once by the GPU's warm parent: a module that only names torch.compiler costs seconds otherwise."""
GPU_ENVIRONMENT = {"TORCHINDUCTOR_COMPILE_THREADS": "1"}
"""Read when torch._dynamo is imported: a confined process has no pool of compilers."""


class Court:
    """One worker's state: the warm parent, the machine, the open sessions."""

    def __init__(self, note: Callable[[str], None]) -> None:
        self._note = note
        self._machines: dict[str, Machine] = {}
        self._sessions: dict[str, Session] = {}

    def machine(self, target: Target) -> Machine:
        """The machine for a target, examined at the first question.

        Raises:
            MachineError: there is no GPU for target `cuda`.
        """
        kind = "cuda" if target.kind == "cuda" and target.present else "cpu"
        if kind not in self._machines:
            if kind == "cuda" and not torch.cuda.is_available():
                raise MachineError("torch sees no GPU; use --target cpu, or --target sm_90 to compile for one")
            # Triton reads TRITON_INTERPRET when it is imported, so only the GPU's children are born with it.
            warm = Warm(modules=GPU_MODULES, environment=GPU_ENVIRONMENT) if kind == "cuda" else Warm()
            warm.start()
            cores = len(os.sched_getaffinity(0))
            self._machines[kind] = CudaMachine(warm, cores) if kind == "cuda" else Machine(warm, cores)
        return self._machines[kind]

    def admit(self, source: TaskSource, target: Target, policy: Policy) -> Task:
        """Admit a task and keep its session open.

        Raises:
            TaskError: it cannot be judged.
        """
        if policy.isolation == "strict":
            self._must_confine(target)
        if target.kind == "cuda" and target.present:
            # One task's inputs may take half of the device's memory.
            self._close_sessions()
        self._note("running the reference: inputs, fp64 results, tolerance")
        session = admit.open_session(self.machine(target).warm, source, target, policy, len(os.sched_getaffinity(0)))
        task = session.presented.task
        self._sessions[task.id] = session
        return task

    def examine(self, source: TaskSource, target: Target, policy: Policy) -> Fitness:
        """Admit a task, look at it closely, and let go of it.

        Raises:
            TaskError: it cannot be judged.
        """
        task = self.admit(source, target, policy)
        session = self._sessions.pop(task.id)
        try:
            self._note("taking the figures of each check")
            return examine(session)
        finally:
            session.close()

    def judge(self, task: Task, candidate: Candidate, policy: Policy, effort: Effort) -> Evaluation:
        """Judge one candidate; a final meets inputs that were drawn for it."""
        session = self._session(task, policy)
        session.policy = policy
        if (refused := _foreign(task.target, candidate)) is not None:
            return refused
        if task.target.present and "compile" in policy.baselines and "compile" not in session.prepared:
            self._note("compiling the torch.compile baseline, once for this task")
        if effort == "final":
            self._note("final: fresh inputs, head to head" if task.target.present else "final: fresh inputs")
        if effort == "final" or session.seeds.stale:
            session.refresh()
        found = judge(session, self.machine(task.target), candidate, effort)
        # Only now, with the candidate's process gone, and only of cases that no other candidate will meet.
        return found.model_copy(update={"seeds": session.seeds.reveal()}) if effort == "final" else found

    def replay(self, task: Task, candidate: Candidate, policy: Policy, seeds: Sequence[int]) -> Evaluation:
        """Right or wrong on the cases of these seeds, which are known already: no time is taken."""
        session = self._session(task, policy)
        if (refused := _foreign(task.target, candidate)) is not None:
            return refused
        self._note("the receipt's seeds: the same inputs again")
        session.policy = policy
        session.refresh(seeds)
        found = judge(session, self.machine(task.target), candidate, "replay")
        return found.model_copy(update={"seeds": session.seeds.reveal()})

    def environment(self, target: Target) -> Environment:
        """Device with its measured bandwidth, versions, and the sandbox in force."""
        machine = self.machine(target)
        gbps = None
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
            machine.warm.close()

    def _close_sessions(self) -> None:
        for session in self._sessions.values():
            session.close()
        self._sessions.clear()

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
        if task.id not in self._sessions:
            admitted = self.admit(task.source, task.target, policy)
            if admitted.id != task.id:
                raise RefereeError(
                    f"the task {task.name!r} is not what it was when the run began: torch or the domains have changed. "
                    "Start a new run."
                )
        return self._sessions[task.id]


def _foreign(target: Target, candidate: Candidate) -> Refused | None:
    """Why a candidate in this language is not for this target."""
    wanted = "cpp" if target.kind == "cpu" else "triton"
    if candidate.language == wanted:
        return None
    return Refused(reason=f"target {target.name} takes {wanted} candidates, not {candidate.language}")
