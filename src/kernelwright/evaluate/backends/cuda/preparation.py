"""From a candidate's text to what can run on the GPU: everything of its evaluation that needs no device.

Open tunables become plans of one program, of which the launcher keeps the fastest.
"""

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from contextvars import copy_context
from itertools import islice

from kernelwright.evaluate.backends.cuda.machine import CudaMachine, key_of
from kernelwright.evaluate.languages.builder import Artifact, Built, Dynamic, Library, Program
from kernelwright.evaluate.languages.table import BUILDERS
from kernelwright.evaluate.sandbox.spawn import Warm
from kernelwright.evaluate.session import limits
from kernelwright.evaluate.session.trial import OutcomeReached, Trial
from kernelwright.knowledge.hardware import Hardware
from kernelwright.records.candidate import Candidate
from kernelwright.records.evaluation import BuildFailed, Refused
from kernelwright.records.launch import LaunchPlan

BUILDERS_AT_ONCE = 8
"""Settings that are compiled at once."""


def built(trial: Trial, machine: CudaMachine) -> Artifact:
    """A program for the referee's launcher; a library, or nothing, where the candidate's own host code must run.

    Raises:
        OutcomeReached: it does not build, or breaks a limit of its task's.
        as `Builder.build`.
    """
    key = key_of(trial)
    known = machine.programs.known(key)
    if known is not None:
        return known
    own_host = BUILDERS[trial.candidate.language].OWN_HOST
    made = (_as_it_is if own_host else _planned)(trial, machine.warm, machine.hardware)
    if isinstance(made, Program):
        machine.programs.keep(key, made)
    else:
        _refuse_unlimited(trial, made)
    return made


def _refuse_unlimited(trial: Trial, made: Library | Dynamic) -> None:
    allowed = trial.task.source.limits
    refused = limits.of_host_code(allowed, trial.candidate, made.facts)
    if refused is None:
        return
    if isinstance(made, Library):
        made.close()
    raise OutcomeReached(refused)


def _as_it_is(trial: Trial, warm: Warm, device: Hardware) -> Artifact:
    """With its default setting: no launcher could choose among several."""
    with trial.timed("compile"):
        trial.candidate = next(trial.candidate.points())
        found = BUILDERS[trial.candidate.language].build(trial.order(warm, device=device))
    if isinstance(found, BuildFailed | Refused):
        raise OutcomeReached(found)
    return found


def _planned(trial: Trial, warm: Warm, device: Hardware) -> Artifact:
    points = list(islice(trial.candidate.points(), trial.policy.tune_points))
    with trial.timed("compile"):
        if len(points) == 1:
            found = [_limited(trial, warm, device, points[0])]
        else:
            contexts = [copy_context() for _ in points]
            with ThreadPoolExecutor(BUILDERS_AT_ONCE) as pool:
                # A thread of its own does not know the job that its compiler's process works for.
                jobs = zip(contexts, points, strict=True)
                found = list(pool.map(lambda job: job[0].run(_limited, trial, warm, device, job[1]), jobs))
    programs = [b for b in found if isinstance(b, Program)]
    if len(programs) == 1 and len(points) == 1:
        return programs[0]
    if programs:
        return _together(programs, [p for p, b in zip(points, found, strict=True) if isinstance(b, Program)])
    if isinstance(found[0], BuildFailed | Refused):
        raise OutcomeReached(found[0])
    # The default setting is judged with the candidate's own host code.
    trial.candidate = points[0]
    return found[0]


def _limited(trial: Trial, warm: Warm, device: Hardware, candidate: Candidate) -> Built:
    found = BUILDERS[candidate.language].build(trial.order(warm, candidate, device))
    over = limits.of_program(trial.task.source.limits, found) if isinstance(found, Program) else None
    return over or found


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
