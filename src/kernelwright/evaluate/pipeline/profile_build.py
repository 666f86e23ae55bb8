"""A candidate built for its profile: as a program for our launcher where it can be one, as a shared object, or not at all.

Decides that a build which fails is a profile's note and nothing worse: what the candidate is worth, `judge` has said.
"""

import os
from dataclasses import replace

from kernelwright.errors import KernelwrightError
from kernelwright.evaluate.compile import cpp, cuda_host
from kernelwright.evaluate.pipeline.profile_request import Request
from kernelwright.evaluate.pipeline.program import program_of
from kernelwright.evaluate.pipeline.trial import OutcomeReached, Trial
from kernelwright.evaluate.sandbox.child import ChildGoneError, ChildSlowError
from kernelwright.evaluate.sandbox.contestant import ChildRaisedError, TamperedError
from kernelwright.records.measure import BuildFacts

FAILURES = (OutcomeReached, ChildGoneError, ChildSlowError, ChildRaisedError, TamperedError, KernelwrightError, OSError)


def request_of(trial: Trial, build: BuildFacts | None) -> Request:
    """What to profile of a candidate; `build` says which of its plans was the fastest, where it has been judged."""
    presented = trial.session.presented
    request = Request(presented.task, trial.candidate, trial.policy, presented.init_source(), build)
    if presented.task.target.kind != "cuda":
        return request
    try:
        if trial.candidate.language == "cuda_host":
            return _with_library(trial, request)
        program = program_of(trial)
    except FAILURES as failure:
        return replace(request, fault=f"it could not be built for a profile: {failure}"[:400])
    if program is None:
        return request
    chosen = build.chosen if build is not None else ""
    plan = next((i for i, p in enumerate(program.plans) if p.label == chosen), 0)
    return replace(request, build=build or program.facts, program=program, plan=plan)


def _with_library(trial: Trial, request: Request) -> Request:
    arch, limit = request.task.target.arch, trial.policy.compile_limit_s
    library = cuda_host.build(trial.machine.warm, trial.candidate, arch, limit, trial.jail().off)
    if not isinstance(library, cpp.Library):
        raise OutcomeReached(library)
    try:
        image = os.pread(library.descriptor, os.fstat(library.descriptor).st_size, 0)
    finally:
        library.close()
    return replace(request, build=request.build or library.facts, library=image)
