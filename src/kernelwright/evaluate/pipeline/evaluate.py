"""Evaluating one candidate: built, then with the device loaded, verified, timed, and as a new best audited.

Whatever untrusted code does ends as a value here; an exception that leaves is the referee's own fault. A stage ends early in
one way, by `OutcomeReached`; what a process of untrusted code comes to otherwise, `outcome_of` turns into its outcome.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial

from kernelwright.evaluate.backends.backend import Backend
from kernelwright.evaluate.pipeline import baselines
from kernelwright.evaluate.pipeline.new_best_audit import audited
from kernelwright.evaluate.pipeline.replayed import bounded
from kernelwright.evaluate.pipeline.starts import beyond_starts
from kernelwright.evaluate.pipeline.timing import fresh_inputs, time_candidate
from kernelwright.evaluate.sandbox.child import ChildGoneError, ChildSlowError
from kernelwright.evaluate.sandbox.process import ChildRaisedError, TamperedError
from kernelwright.evaluate.session.binding import may_be_weaker
from kernelwright.evaluate.session.loaded import LoadedCandidate
from kernelwright.evaluate.session.session import Session
from kernelwright.evaluate.session.trial import FAILURES, OutcomeReached, Trial
from kernelwright.evaluate.session.verification import FAULTS, naming_written_inputs, verify_case
from kernelwright.execution import job
from kernelwright.records.evaluation import (
    BuildFailed,
    Compiled,
    Crashed,
    Evaluation,
    Incorrect,
    Measured,
    Refused,
    Suspect,
    TimedOut,
    Verified,
    is_right,
)
from kernelwright.records.measure import BuildFacts
from kernelwright.records.numerics import legible
from kernelwright.records.policy import ON_SHARED_CASES, UNTIMED

ITS_OWN = BuildFacts(compiler="its own, when it is run", seconds=0.0)
"""Of a candidate whose host code builds or launches in a way that only running it can tell."""
MOST_OF_LIBRARIES = 0.5
"""Share of a candidate's time that PyTorch's own operators may take where library calls are forbidden."""


def evaluate_candidate(trial: Trial, backend: Backend) -> Evaluation:
    """The Evaluation of one candidate with no tunable left open. Compiling goes on beside other candidates' clocks.

    It may be called again for the same trial, where the device was full.

    Raises:
        RefereeError: the referee broke.
    """
    outcome = _attempt(trial, backend)
    while trial.found.elsewhere and (other := trial.session.others(trial.found.elsewhere)):
        trial.open_session = partial(_same, other)
        outcome = _attempt(trial, backend)
    if not is_right(outcome) and may_be_weaker(trial):
        # Once more, with the parameters under which models are built.
        trial.weights = "construction"
        outcome = _attempt(trial, backend)
    if isinstance(outcome, Crashed | TimedOut | Incorrect | Suspect):
        outcome = outcome.model_copy(update={"build": trial.found.facts})
    return _with_circumstances(trial, backend, outcome)


def _same(session: Session) -> Session:
    return session


def _attempt(trial: Trial, backend: Backend) -> Evaluation:
    trial.start_over()
    try:
        with backend.prepared(trial) as built, _the_device(trial, backend, built.own_host), built.load() as loaded:
            _verify(trial, loaded)
            outcome = _timed(trial, backend, loaded) if backend.clock else _interpreted(trial, loaded)
    except FAILURES as failure:
        outcome = outcome_of(trial, failure)
    return outcome


def build_candidate(trial: Trial, backend: Backend) -> Evaluation:
    """`Compiled` with the compiler's facts, or why not. Nothing of the candidate is run.

    Raises:
        RefereeError: the referee broke.
    """
    try:
        with backend.prepared(trial) as built:
            outcome: Evaluation = Compiled(build=built.facts or ITS_OWN)
    except FAILURES as failure:
        outcome = outcome_of(trial, failure)
    return _with_circumstances(trial, backend, outcome)


@contextmanager
def _the_device(trial: Trial, backend: Backend, own_host: bool) -> Iterator[None]:
    """It is this trial's turn; but in a search, with cases that no other candidate meets, and whose seeds are then told.

    Others' turns may go on beside it until the clock runs, unless a process is there whose own host code could leave work on
    the device for a time when another candidate is timed.
    """
    lock = backend.host.device_lock
    with lock if own_host else lock.shared():
        # Another task's admission may have needed the device's memory meanwhile.
        session = trial.reopen()
        if trial.policy.tuning_limit_s > session.policy.tuning_limit_s:
            baselines.try_again(session)
        session.policy = trial.policy
        backend.activate(session)
        backend.host.in_use = session
        anew = session.weights != trial.weights
        session.weights = trial.weights
        if anew or trial.effort not in ON_SHARED_CASES or session.seeds.stale:
            session.refresh(trial.replayed)
        try:
            yield
        finally:
            backend.host.in_use = None
            # Only now, with the candidate's process gone.
            if trial.effort not in ON_SHARED_CASES:
                trial.found.revealed = session.seeds.reveal()


def _verify(trial: Trial, loaded: LoadedCandidate) -> None:
    """Every case, as its input distribution is known.

    Raises:
        OutcomeReached: one is wrong.
        as `ComputeProcess.run`.
    """
    with trial.timed("verify"):
        cases, on = trial.session.cases, f" on {loaded.verified_on}" if loaded.verified_on else ""
        for number, case in enumerate(cases, 1):
            job.step(f"verifying{on}: case {number} of {len(cases)}, {case.distribution}")
            if why := loaded.skips(case.distribution):
                trial.found.skipped.append(f"{case.distribution}: {why}")
                continue
            loaded.give_parameters(case.offsets)
            with naming_written_inputs(loaded, case):
                verify_case(loaded, case)
    trial.found.numerics = trial.found.numerics.model_copy(update={"candidate": legible(loaded.flags())})


def _timed(trial: Trial, backend: Backend, loaded: LoadedCandidate) -> Evaluation:
    """Measured, or why its time cannot be believed; a final that was measured is audited as a new best would be."""
    if trial.effort in UNTIMED:
        return _verified(trial, loaded, "the receipt's seeds" if trial.replayed else "the device, untimed")
    clock = backend.clock
    assert clock is not None
    with backend.host.device_lock, trial.timed("measure"), loaded.timed():
        outcome = time_candidate(trial, clock, loaded)
    if isinstance(outcome, Measured):
        outcome = beyond_starts(outcome, trial, backend.host.device, clock.on_device)
    outcome = audited(trial, clock, loaded, outcome)
    if isinstance(outcome, Measured):
        share, forbidden = _library_share(loaded), trial.policy.library_calls == "forbid"
        if forbidden and trial.policy.defences.own_share and share is not None and share > MOST_OF_LIBRARIES:
            return Refused(
                reason=f"library calls are forbidden, and PyTorch's own operators take {share:.0%} of its time"
            )
        outcome = outcome.model_copy(update={"library_share": share})
    with trial.timed("measure"):
        return bounded(trial, clock, loaded, outcome, lambda: fresh_inputs(trial.session, trial.policy))


def _interpreted(trial: Trial, loaded: LoadedCandidate) -> Evaluation:
    """Verified, unless its kernels do none of the work."""
    with trial.timed("verify"):
        evidence = loaded.decoration()
    return (
        Suspect(because="decoration", evidence=evidence) if evidence else _verified(trial, loaded, loaded.verified_on)
    )


def _library_share(loaded: LoadedCandidate) -> float | None:
    """What the process says of itself may convict it and never acquit; one that does not tell it loses nothing."""
    try:
        return loaded.library_share()
    except (ChildSlowError, ChildGoneError, ChildRaisedError, TamperedError):
        return None


def _verified(trial: Trial, loaded: LoadedCandidate, how: str) -> Verified:
    """Right, and no time is taken."""
    return Verified(build=loaded.facts, accuracy=trial.accuracy, how=how)


def outcome_of(trial: Trial, failure: Exception) -> Evaluation:
    """What it means that untrusted code ended a trial in this way."""
    match failure:
        case OutcomeReached():
            return failure.outcome
        case ChildSlowError():
            return TimedOut(stage=trial.found.stage, limit_s=failure.limit_s)
        case ChildGoneError() if trial.found.stage == "compile":
            return BuildFailed(log=f"the compiler's process {failure.reason}: over its limits?\n{failure.log}")
        case ChildGoneError():
            return Crashed(stage=trial.found.stage, reason=_explained(failure.reason), log=failure.log)
        case ChildRaisedError() if trial.found.stage in ("compile", "load"):
            return BuildFailed(log=failure.log)
        case ChildRaisedError():
            return Crashed(stage=trial.found.stage, reason=failure.name, log=failure.log)
    return Suspect(because="tampering", evidence=str(failure))


def without_room(trial: Trial, backend: Backend, error: Exception) -> Evaluation:
    """What a kernel comes to beside which the referee finds no room on the device."""
    reason = (
        "the device has no memory left beside this kernel: it, or another process, may hold on to what it allocates"
    )
    return _with_circumstances(
        trial, backend, Crashed(stage=trial.found.stage, reason=reason, log=str(error), build=trial.found.facts)
    )


def _explained(reason: str) -> str:
    if any(name in reason for name in FAULTS):
        # The first process of a namespace cannot die of SIGABRT, so that the C library's abort ends in this one.
        return f"{reason}: it touched memory outside its buffers or aborted (inputs are read-only)"
    return reason


def _with_circumstances(trial: Trial, backend: Backend, outcome: Evaluation) -> Evaluation:
    """The outcome with what every one of them tells."""
    told = {"seconds": tuple(trial.found.seconds), "disabled": trial.policy.disabled, "tier": trial.found.tier}
    judged_with = {"weights": trial.weights, "binding": trial.found.binding, "numerics": trial.found.numerics}
    return outcome.model_copy(
        update={**told, **judged_with, "seeds": trial.found.revealed, "device": backend.host.device.name}
    )
