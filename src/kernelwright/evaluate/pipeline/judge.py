"""Judging one candidate: compile, load, verify every case, time it, place it on the roofline.

Decides which outcome a failure becomes. Whatever foreign code does ends as a value here; an exception that leaves is the
referee's own fault.
"""

from collections.abc import Callable

from kernelwright.evaluate.compile import cpp
from kernelwright.evaluate.pipeline.absent import absent_stages
from kernelwright.evaluate.pipeline.cuda import cuda_stages
from kernelwright.evaluate.pipeline.machine import Machine
from kernelwright.evaluate.pipeline.session import Session
from kernelwright.evaluate.pipeline.timing import time_candidate
from kernelwright.evaluate.pipeline.trial import OutcomeReached, Trial, verify_case
from kernelwright.evaluate.sandbox.child import ChildGoneError, ChildSlowError
from kernelwright.evaluate.sandbox.contestant import ChildRaisedError, Contestant, TamperedError
from kernelwright.records.candidate import Candidate
from kernelwright.records.evaluation import BuildFailed, Crashed, Evaluation, Refused, Suspect, TimedOut
from kernelwright.records.policy import Effort
from kernelwright.records.task import Target


def judge(session: Session, machine: Machine, candidate: Candidate, effort: Effort) -> Evaluation:
    """The Evaluation of one candidate with no tunable left open."""
    trial = Trial(session, machine, candidate)
    outcome = _guarded(trial, lambda: _stages_for(session.task.target)(trial, effort))
    told = {"seconds": tuple(trial.seconds), "disabled": trial.policy.disabled, "device": machine.device.name}
    return outcome.model_copy(update=told)


def _stages_for(target: Target) -> Callable[[Trial, Effort], Evaluation]:
    if not target.present:
        return absent_stages
    return cuda_stages if target.kind == "cuda" else _stages


def _guarded(trial: Trial, run: Callable[[], Evaluation]) -> Evaluation:
    """Turn whatever foreign code did into its outcome."""
    try:
        return run()
    except OutcomeReached as reached:
        return reached.outcome
    except ChildSlowError:
        limit = trial.policy.compile_limit_s if trial.stage == "compile" else trial.policy.run_limit_s
        return TimedOut(stage=trial.stage, limit_s=limit)
    except ChildGoneError as gone:
        if trial.stage == "compile":
            return BuildFailed(log=f"the compiler's process {gone.reason}: over its limits?\n{gone.log}")
        return Crashed(stage=trial.stage, reason=_explained(gone.reason), log=gone.log)
    except ChildRaisedError as raised:
        if trial.stage in ("compile", "load"):
            return BuildFailed(log=raised.log)
        return Crashed(stage=trial.stage, reason=raised.name, log=raised.log)
    except TamperedError as tampered:
        return Suspect(because="tampering", evidence=str(tampered))


def _explained(reason: str) -> str:
    if "SIGSEGV" in reason or "SIGBUS" in reason:
        # The first process of a namespace cannot die of SIGABRT, so that the C library's abort ends in this one.
        return f"{reason}: it touched memory outside its buffers, wrote to an input (inputs are read-only), or aborted"
    return reason


def _stages(trial: Trial, effort: Effort) -> Evaluation:
    with trial.timed("compile"):
        library = cpp.build(trial.machine.warm, trial.candidate, trial.policy.compile_limit_s)
    if isinstance(library, BuildFailed | Refused):
        return library
    contestant: Contestant | None = None
    try:
        with trial.timed("load"):
            contestant = Contestant(trial.machine.warm.spawn("cpp", trial.jail()), trial.policy.run_limit_s)
            contestant.freeze = "freeze" not in trial.policy.disabled
            contestant.serials = "honest_reply" not in trial.policy.disabled
            _load(trial, contestant, library)
        with trial.timed("verify"):
            for case in trial.session.cases:
                verify_case(trial, contestant, case)
        with trial.timed("measure"):
            return time_candidate(trial, contestant, library.facts, effort)
    finally:
        library.close()
        if contestant is not None:
            contestant.close()


def _load(trial: Trial, contestant: Contestant, library: cpp.Library) -> None:
    session = trial.session
    fields, descriptors = session.share()
    message = {
        "do": "load",
        **fields,
        "outputs": [o.model_dump(mode="json") for o in session.task.workload.outputs],
        "workspace_bytes": trial.candidate.workspace_bytes,
        "entry": trial.candidate.entry,
        "threads": trial.machine.device.cores,
    }
    denied = contestant.child.denied
    if denied and trial.policy.isolation == "strict":
        raise OutcomeReached(Refused(reason=f"the host denies {', '.join(denied)}, and isolation is strict"))
    contestant.ask(message, [*descriptors, library.descriptor])
