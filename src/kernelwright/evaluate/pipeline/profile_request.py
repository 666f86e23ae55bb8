"""What is to be profiled, and what a profiled process is told of it. Refuses to know how it is profiled."""

from dataclasses import dataclass, field

from kernelwright.evaluate.compile.program import Program
from kernelwright.evaluate.profile.launches import declared
from kernelwright.evaluate.sandbox.messages.tools import LibrarySubject, ModuleSubject, ProgramSubject
from kernelwright.knowledge.hardware import hardware
from kernelwright.records.candidate import Candidate
from kernelwright.records.measure import BuildFacts
from kernelwright.records.policy import Policy
from kernelwright.records.profile import Ceilings, Profile, compiled
from kernelwright.records.task import Task


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
