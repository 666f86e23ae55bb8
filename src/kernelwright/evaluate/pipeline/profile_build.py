"""A candidate built for its profile: as a program for our launcher where it can be one, as a shared object, or not at all.

Decides that a build which fails is a profile's note and nothing worse: what the candidate is worth, `judge` has said.
"""

import os
from dataclasses import replace

from kernelwright.errors import KernelwrightError
from kernelwright.evaluate.compile.cpp import Library
from kernelwright.evaluate.pipeline.profile_request import Request
from kernelwright.evaluate.pipeline.program import built
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
        made = built(trial)
    except FAILURES as failure:
        return replace(request, fault=f"it could not be built for a profile: {failure}"[:400])
    if isinstance(made, Library):
        return _with_library(made, request)
    if made is None:
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
