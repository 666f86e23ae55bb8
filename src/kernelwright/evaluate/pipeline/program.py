"""From a candidate's text to what can run on the GPU: everything of its judgement that needs no device.

Decides which compile stage a language goes through, and that open tunables become plans of one program, of which the
launcher keeps the fastest.
"""

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from contextvars import copy_context
from itertools import islice

from kernelwright.evaluate.compile import cpp, cuda, cuda_host, triton
from kernelwright.evaluate.compile.program import Dynamic, Program
from kernelwright.evaluate.pipeline import limits
from kernelwright.evaluate.pipeline.machine_cuda import CudaMachine
from kernelwright.evaluate.pipeline.trial import OutcomeReached, Trial
from kernelwright.evaluate.sandbox.child import ChildGoneError
from kernelwright.records.candidate import Candidate
from kernelwright.records.evaluation import BuildFailed, Refused
from kernelwright.records.launch import LaunchPlan

Built = Program | Dynamic | BuildFailed | Refused
BUILDERS = 8
"""Settings that are compiled at once."""


def built(trial: Trial) -> Program | cpp.Library | None:
    """A program for the referee's launcher; a library, or nothing, where the candidate's own host code must run.

    Raises:
        OutcomeReached: it does not build.
        as the compile stages.
    """
    if trial.candidate.language in ("cuda", "triton"):
        made: Program | cpp.Library | None = _program(trial)
    else:
        made = _library(trial) if trial.candidate.language == "cuda_host" else None
    if not isinstance(made, Program):
        _refuse_unlimited(trial, made)
    return made


def _refuse_unlimited(trial: Trial, library: cpp.Library | None) -> None:
    allowed = trial.session.presented.task.source.limits
    refused = limits.of_host_code(allowed, trial.candidate, library.facts if library else None)
    if refused is None:
        return
    if library is not None:
        library.close()
    raise OutcomeReached(refused)


def _library(trial: Trial) -> cpp.Library:
    target, limit = trial.session.task.target, trial.policy.compile_limit_s
    with trial.timed("compile"):
        trial.candidate = next(trial.candidate.points())
        found = cuda_host.build(trial.machine.warm, trial.candidate, target.arch, limit, trial.jail().off)
    if isinstance(found, BuildFailed | Refused):
        raise OutcomeReached(found)
    return found


def _program(trial: Trial) -> Program | None:
    points = list(islice(trial.candidate.points(), trial.policy.tune_points))
    with trial.timed("compile"):
        if len(points) == 1:
            found = [_limited(trial, points[0])]
        else:
            contexts = [copy_context() for _ in points]
            with ThreadPoolExecutor(BUILDERS) as pool:
                # A thread of its own does not know the job that its compiler's process works for.
                found = list(pool.map(lambda at, point: at.run(_limited, trial, point), contexts, points))
    programs = [b for b in found if isinstance(b, Program)]
    if len(programs) == 1 and len(points) == 1:
        return programs[0]
    if programs:
        return _together(programs, [p for p, b in zip(points, found, strict=True) if isinstance(b, Program)])
    if isinstance(found[0], BuildFailed | Refused):
        raise OutcomeReached(found[0])
    # The default setting is judged with the candidate's own host code.
    trial.candidate = points[0]
    return None


def _limited(trial: Trial, candidate: Candidate) -> Built:
    found = _built(trial, candidate)
    over = limits.of_program(trial.session.presented.task.source.limits, found) if isinstance(found, Program) else None
    return over or found


def _built(trial: Trial, candidate: Candidate) -> Built:
    assert isinstance(trial.machine, CudaMachine)
    presented, machine = trial.session.presented, trial.machine
    workload, limit = presented.task.workload, trial.policy.compile_limit_s
    if candidate.language == "cuda":
        return cuda.build(machine.warm, candidate, workload, presented.task.target.arch, limit, trial.jail().off)
    if "capture" in trial.policy.disabled:
        return Dynamic(reason="a test switched capture off")
    try:
        return triton.capture(machine.warm, candidate, presented.init_source(), workload, machine.hardware, limit)
    except ChildGoneError as gone:
        # Host code that ends its process is no failed build; on the device it will be seen for what it is.
        return Dynamic(reason=f"its host code {gone.reason}")


def _together(programs: Sequence[Program], points: Sequence[Candidate]) -> Program:
    """One program with the plans of all, each named after its setting; facts are those of the first."""
    modules: list[bytes] = []
    plans: list[LaunchPlan] = []
    unaligned: list[LaunchPlan] = []
    for program, point in zip(programs, points, strict=True):
        label = " ".join(f"{d.name}={d.value}" for d in point.defines)
        plans += [_moved(p, len(modules), label) for p in program.plans]
        unaligned += [_moved(p, len(modules), label) for p in program.unaligned_plans]
        modules += program.modules
    return Program(tuple(modules), tuple(plans), programs[0].facts, tuple(unaligned), programs[0].aligned_only)


def _moved(plan: LaunchPlan, modules: int, label: str) -> LaunchPlan:
    launches = tuple(x.model_copy(update={"module": x.module + modules}) for x in plan.launches)
    return plan.model_copy(update={"launches": launches, "label": f"{label} {plan.label}".strip()})
