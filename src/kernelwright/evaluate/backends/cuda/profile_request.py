"""What is to be profiled: a candidate built as a program, as a shared object or not at all, and what its process is told.

A build that fails is a profile's note and nothing worse: what the candidate is worth, its evaluation has said.
"""

import os
from dataclasses import dataclass, field, replace

from kernelwright.errors import KernelwrightError
from kernelwright.evaluate.backends.cuda.machine import CudaMachine
from kernelwright.evaluate.backends.cuda.preparation import built
from kernelwright.evaluate.languages.artifact import Dynamic, Library, Program
from kernelwright.evaluate.languages.table import BUILDERS
from kernelwright.evaluate.profile.launches import declared
from kernelwright.evaluate.sandbox.candidate_process import ChildRaisedError, TamperedError
from kernelwright.evaluate.sandbox.child import ChildGoneError, ChildSlowError
from kernelwright.evaluate.sandbox.messages.tools import LibrarySubject, ModuleSubject, ProgramSubject
from kernelwright.evaluate.session.trial import OutcomeReached, Trial
from kernelwright.records.candidate import Candidate
from kernelwright.records.measure import BuildFacts
from kernelwright.records.policy import Policy
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
