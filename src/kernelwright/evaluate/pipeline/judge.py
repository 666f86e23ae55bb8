"""Judging one candidate: compile, load, verify every case, time it, place it on the roofline.

Decides which outcome a failure becomes. Whatever foreign code does ends as a value here; an exception that leaves is the
referee's own fault.
"""

from collections.abc import Callable, Sequence

from kernelwright.evaluate.compile import cpp
from kernelwright.evaluate.compile.cpp import Library
from kernelwright.evaluate.compile.program import Program
from kernelwright.evaluate.pipeline.absent import absent_stages, cross_compiled
from kernelwright.evaluate.pipeline.contestant_cpp import CppContestant, Loading
from kernelwright.evaluate.pipeline.cuda import host_stages, plan_stages
from kernelwright.evaluate.pipeline.machine import Machine
from kernelwright.evaluate.pipeline.mutation import FAULTS, named
from kernelwright.evaluate.pipeline.probes import Subject
from kernelwright.evaluate.pipeline.program import built
from kernelwright.evaluate.pipeline.promotion import ON_THE_CPU, promoted
from kernelwright.evaluate.pipeline.session import Session
from kernelwright.evaluate.pipeline.timing import time_candidate
from kernelwright.evaluate.pipeline.trial import OutcomeReached, Trial, replayed, verify_case
from kernelwright.evaluate.sandbox.child import ChildGoneError, ChildSlowError
from kernelwright.evaluate.sandbox.contestant import ChildRaisedError, TamperedError
from kernelwright.records.candidate import Candidate
from kernelwright.records.evaluation import (
    BuildFailed,
    Compiled,
    Crashed,
    Evaluation,
    Incorrect,
    Refused,
    Suspect,
    TimedOut,
)
from kernelwright.records.measure import BuildFacts
from kernelwright.records.policy import Effort, Policy

ITS_OWN = BuildFacts(compiler="its own, when it is run", seconds=0.0)
"""Of a candidate whose host code builds or launches in a way that only running it can tell."""


def judge(
    court_session: Callable[[], Session],
    machine: Machine,
    candidate: Candidate,
    policy: Policy,
    effort: Effort,
    seeds: Sequence[int] = (),
) -> Evaluation:
    """The Evaluation of one candidate with no tunable left open; `seeds` are a receipt's, for a replay.

    Compiling goes on beside other candidates' clocks; whatever needs the session's cases or the device waits for its turn.

    Raises:
        RefereeError: the referee broke.
    """
    trial = Trial(court_session(), machine, candidate, policy)

    def heard(stages: Callable[[], Evaluation]) -> Evaluation:
        with trial.turn():
            # Another task's admission may have needed the device's memory meanwhile.
            trial.session = court_session()
            trial.session.policy = policy
            machine.activate(trial.session)
            if effort != "search" or trial.session.seeds.stale:
                trial.session.refresh(seeds)
            found = _guarded(trial, stages)
            if effort == "search":
                return found
            # Only now, with the candidate's process gone, and only of cases that no other candidate will meet.
            return found.model_copy(update={"seeds": trial.session.seeds.reveal()})

    outcome = _guarded(trial, lambda: _built_and_run(trial, heard, effort))
    if isinstance(outcome, Crashed | TimedOut | Incorrect | Suspect):
        outcome = outcome.model_copy(update={"build": trial.facts})
    return _told(trial, outcome)


def build(session: Session, machine: Machine, candidate: Candidate, policy: Policy) -> Evaluation:
    """`Compiled` with the compiler's facts, or why not. Nothing of the candidate is run.

    Raises:
        RefereeError: the referee broke.
    """
    trial = Trial(session, machine, candidate, policy)
    return _told(trial, _guarded(trial, lambda: _only_built(trial)))


def _told(trial: Trial, outcome: Evaluation) -> Evaluation:
    """The outcome with what every one of them tells."""
    told = {"seconds": tuple(trial.seconds), "disabled": trial.policy.disabled, "tier": trial.tier}
    return outcome.model_copy(update={**told, "device": trial.machine.device.name})


def _only_built(trial: Trial) -> Evaluation:
    target = trial.session.task.target
    if not target.present:
        return Compiled(build=cross_compiled(trial))
    if target.kind == "cpu":
        # On the CPU a compiler beside somebody's clock would be heard.
        with trial.turn(), trial.timed("compile"):
            made: Library | Program | BuildFailed | Refused | None = cpp.build(
                trial.machine.warm, trial.candidate, trial.policy.compile_limit_s
            )
    else:
        made = built(trial)
    if isinstance(made, BuildFailed | Refused):
        return made
    if isinstance(made, Library):
        made.close()
    return Compiled(build=made.facts if made is not None else ITS_OWN)


def _built_and_run(trial: Trial, heard: Callable[[Callable[[], Evaluation]], Evaluation], effort: Effort) -> Evaluation:
    target = trial.session.task.target
    if not target.present:
        return absent_stages(trial, heard)
    if target.kind == "cpu":
        return heard(lambda: _stages(trial, effort))
    made = built(trial)
    trial.facts = made.facts if made is not None else None
    if isinstance(made, Program):
        return heard(lambda: plan_stages(trial, made, effort))
    try:
        return heard(lambda: host_stages(trial, made, effort))
    finally:
        if made is not None:
            made.close()


def _guarded(trial: Trial, run: Callable[[], Evaluation]) -> Evaluation:
    """Turn whatever foreign code did into its outcome."""
    try:
        return run()
    except OutcomeReached as reached:
        return reached.outcome
    except ChildSlowError:
        return TimedOut(stage=trial.stage, limit_s=_limit_s(trial))
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


def _limit_s(trial: Trial) -> float:
    if trial.stage == "compile":
        return trial.policy.compile_limit_s
    return trial.session.limit_s() if trial.tier == 1 else trial.policy.run_limit_s


def _explained(reason: str) -> str:
    if any(name in reason for name in FAULTS):
        # The first process of a namespace cannot die of SIGABRT, so that the C library's abort ends in this one.
        return f"{reason}: it touched memory outside its buffers or aborted (inputs are read-only)"
    return reason


def _stages(trial: Trial, effort: Effort) -> Evaluation:
    with trial.timed("compile"):
        library = cpp.build(trial.machine.warm, trial.candidate, trial.policy.compile_limit_s)
    if isinstance(library, BuildFailed | Refused):
        return library
    trial.facts = library.facts
    contestant: CppContestant | None = None
    try:
        with trial.timed("load"):
            contestant = loaded(trial, library)
        with trial.timed("verify"):
            for case in trial.session.cases:
                with named(trial, case, lambda: loaded(trial, library, private=True)):
                    verify_case(trial, contestant, case)
        if effort == "replay":
            return replayed(trial, library.facts)
        with trial.timed("measure"):
            outcome = time_candidate(trial, contestant, library.facts, effort)
        return promoted(trial, outcome, effort, Subject(contestant), ON_THE_CPU)
    finally:
        library.close()
        if contestant is not None:
            contestant.close()


def loaded(trial: Trial, library: cpp.Library, private: bool = False) -> CppContestant:
    """The candidate in a new process; `private`: with inputs that may be written to.

    Raises:
        OutcomeReached: this host cannot confine it as strictly as the policy wants.
        as `Contestant.ask`.
    """
    session, disabled = trial.session, trial.policy.disabled
    child = trial.machine.warm.spawn("cpp", trial.jail())
    contestant = CppContestant(child, trial.policy.run_limit_s, session.task.workload.outputs)
    contestant.freeze = "freeze" not in disabled
    contestant.serials = "honest_reply" not in disabled
    contestant.own_memory = "own_memory" not in disabled
    how = Loading(trial.candidate.entry, trial.machine.device.cores, trial.candidate.workspace_bytes, private)
    try:
        if child.denied and trial.policy.isolation == "strict":
            reason = f"the host denies {', '.join(child.denied)}, and isolation is strict"
            raise OutcomeReached(Refused(reason=reason))
        contestant.load(session.share(), library.descriptor, how)
    except BaseException:
        contestant.close()
        raise
    return contestant
