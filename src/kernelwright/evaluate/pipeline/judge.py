"""Judging one candidate: compile, load, verify every case, time it, place it on the roofline.

Decides which outcome a failure becomes. Whatever foreign code does ends as a value here; an exception that leaves is the
referee's own fault.
"""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

import torch

from kernelwright.evaluate.compile import cpp
from kernelwright.evaluate.pipeline.machine import Machine
from kernelwright.evaluate.pipeline.session import Case, Session
from kernelwright.evaluate.pipeline.timing import time_candidate
from kernelwright.evaluate.sandbox.contestant import ChildRaisedError, Contestant, Found, TamperedError
from kernelwright.evaluate.sandbox.jail import Jail
from kernelwright.evaluate.sandbox.spawn import ChildGoneError, ChildSlowError
from kernelwright.evaluate.verify import compare
from kernelwright.records.candidate import Candidate
from kernelwright.records.evaluation import (
    BuildFailed, Crashed, Evaluation, Incorrect, Refused, Stage, StageSeconds, Suspect, TimedOut,
)  # fmt: skip
from kernelwright.records.measure import Accuracy, CaseError
from kernelwright.records.policy import Effort, Policy

JAIL_PARTS = {"no_processes": "seccomp", "file_system": "landlock", "network": "namespaces", "limits": "limits"}
"""Which part of the sandbox a switched-off defence is."""


class OutcomeReached(Exception):  # noqa: N818 (a result, not an error)
    """Ends a trial early with its outcome."""

    def __init__(self, outcome: Evaluation) -> None:
        super().__init__(outcome.outcome)
        self.outcome = outcome


@dataclass
class Trial:
    """One candidate before the referee."""

    session: Session
    machine: Machine
    candidate: Candidate
    stage: Stage = "compile"
    seconds: list[StageSeconds] = field(default_factory=list)
    cases: list[CaseError] = field(default_factory=list)

    @property
    def policy(self) -> Policy:
        """The dials in force."""
        return self.session.policy

    @property
    def accuracy(self) -> Accuracy:
        """What has been judged so far."""
        return Accuracy(cases=tuple(self.cases), dropped=tuple(self.session.dropped))

    def jail(self) -> Jail:
        """The confinement of a candidate's process."""
        off = tuple(part for defence, part in JAIL_PARTS.items() if defence in self.policy.disabled)
        size = sum(t.nbytes for t in (*self.session.tensors, *self.session.task.workload.outputs))
        return Jail(
            directory="/",
            memory_bytes=min(self.policy.memory_bytes, (4 << 30) + 16 * size),
            off=off,
            may_execute="no_processes" in self.policy.disabled,
        )

    @contextmanager
    def timed(self, stage: Stage) -> Iterator[None]:
        """Account for a stage's wall time, and name it in outcomes that happen in it."""
        self.stage = stage
        start = time.perf_counter()
        try:
            yield
        finally:
            self.seconds.append(StageSeconds(stage=stage, seconds=time.perf_counter() - start))


def judge(session: Session, machine: Machine, candidate: Candidate, effort: Effort) -> Evaluation:
    """The Evaluation of one candidate with no tunable left open."""
    trial = Trial(session, machine, candidate)
    outcome = _guarded(trial, lambda: _stages(trial, effort))
    return outcome.model_copy(update={"seconds": tuple(trial.seconds), "disabled": trial.policy.disabled})


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
        return f"{reason}: it touched memory outside its buffers, or wrote to an input (inputs are read-only)"
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
            _load(trial, contestant, library)
        with trial.timed("verify"):
            for case in trial.session.cases:
                _verify(trial, contestant, case)
        with trial.timed("measure"):
            return time_candidate(trial, contestant, library.facts, effort)
    finally:
        library.close()
        if contestant is not None:
            contestant.close()


def _load(trial: Trial, contestant: Contestant, library: cpp.Library) -> None:
    session = trial.session
    message = {
        "do": "load",
        "starts": session.arena.layout(),
        "outputs": [o.model_dump(mode="json") for o in session.task.workload.outputs],
        "workspace_bytes": trial.candidate.workspace_bytes,
        "entry": trial.candidate.entry,
        "threads": trial.machine.device.cores,
    }
    answer = contestant.ask(message, [session.arena.descriptor, library.descriptor])
    if answer["denied"] and trial.policy.isolation == "strict":
        raise OutcomeReached(Refused(reason=f"the host denies {answer['denied']} and isolation is strict"))


def _verify(trial: Trial, contestant: Contestant, case: Case) -> None:
    ran = contestant.run([case.offsets], checked=True)
    results = ran.results[0]
    check_form(trial, case.regime, results)
    for i, (found, expected) in enumerate(zip(results, case.expected, strict=True)):
        if "guard" not in trial.policy.disabled and not contestant.guards_intact(found):
            evidence = f"wrote before or behind output {i} of {found.numel} elements"
            raise OutcomeReached(wrong(trial, "guard", case.regime, evidence))
        got = contestant.read(found)
        if "poison" in trial.policy.disabled:
            got = torch.where(torch.isfinite(got), got, expected.value.to(got.dtype))
        error, found_wrong = compare.judge(got, expected)
        trial.cases.append(
            CaseError(
                regime=case.regime,
                error=min(error, 1e30),
                reference_error=expected.reference_error,
                allowed=max(expected.allowed, 1e-30),
            )
        )
        if found_wrong is not None:
            raise OutcomeReached(wrong(trial, found_wrong.because, case.regime, f"output {i}: {found_wrong.evidence}"))


def check_form(trial: Trial, regime: str, results: tuple[Found, ...]) -> None:
    """Count, dtype and shape, exactly.

    Raises:
        OutcomeReached: one differs.
    """
    outputs = trial.session.task.workload.outputs
    if len(results) != len(outputs):
        evidence = f"{len(results)} outputs, expected {len(outputs)}"
        raise OutcomeReached(wrong(trial, "count", regime, evidence))
    if "exact_shape" in trial.policy.disabled:
        return
    for i, (found, spec) in enumerate(zip(results, outputs, strict=True)):
        if found.dtype != spec.dtype:
            raise OutcomeReached(wrong(trial, "dtype", regime, f"output {i} is {found.dtype}, expected {spec.dtype}"))
        if found.shape != spec.shape:
            evidence = f"output {i} has shape {list(found.shape)}, expected {list(spec.shape)}"
            raise OutcomeReached(wrong(trial, "shape", regime, evidence))


def wrong(trial: Trial, because: str, case: str, evidence: str) -> Incorrect:
    """An Incorrect with the cases judged so far."""
    return Incorrect.model_validate(
        {"because": because, "case": case, "evidence": evidence, "accuracy": trial.accuracy}
    )
