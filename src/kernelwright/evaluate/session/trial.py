"""One candidate before the referee: what is known of it so far, how a stage ends early, and one case of it verified."""

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Literal

import torch

from kernelwright.evaluate import float8
from kernelwright.evaluate.languages.builder import Order
from kernelwright.evaluate.sandbox.candidate_process import CandidateProcess, ChildRaisedError, TamperedError
from kernelwright.evaluate.sandbox.child import ChildGoneError, ChildSlowError
from kernelwright.evaluate.sandbox.jail import Jail
from kernelwright.evaluate.sandbox.messages.calls import Found
from kernelwright.evaluate.sandbox.spawn import Warm
from kernelwright.evaluate.session.cases import Case
from kernelwright.evaluate.session.explained import beside_rounding
from kernelwright.evaluate.session.nudge import Elements
from kernelwright.evaluate.session.session import Session
from kernelwright.evaluate.timing.load import Times, read_times
from kernelwright.knowledge.hardware import Hardware
from kernelwright.records.binding import Binding, Weights
from kernelwright.records.candidate import Candidate
from kernelwright.records.evaluation import Evaluation, Incorrect, Stage, StageSeconds
from kernelwright.records.measure import Accuracy, BuildFacts, CaseError
from kernelwright.records.numerics import Numerics
from kernelwright.records.policy import Defence, Effort, Policy
from kernelwright.records.task import Task

JAIL_PARTS: dict[Defence, tuple[str, ...]] = {
    "no_processes": ("seccomp",),
    "file_system": ("landlock",),
    "network": ("namespaces",),
    "limits": ("limits",),
    "reference_hidden": ("namespaces", "landlock", "nobody"),
}
"""Which parts of the sandbox a switched-off defence is."""

DRAWN_BYTES = 1 << 30
"""Most bytes of a random output's results that a candidate holds at once."""


class OutcomeReached(Exception):  # noqa: N818 (a result, not an error)
    """Ends a trial early with its outcome: the one way in which a stage does, however deep it is."""

    def __init__(self, outcome: Evaluation) -> None:
        super().__init__(outcome.outcome)
        self.outcome = outcome


ITSELF = "\n\nclass ModelNew(Model):\n    pass\n"
"""Behind a task's text: its own program as a candidate."""
FAILURES = (OutcomeReached, ChildSlowError, ChildGoneError, ChildRaisedError, TamperedError)
"""How untrusted code ends a trial."""


@dataclass
class Trial:
    """One candidate before the referee."""

    task: Task
    """As it was handed in."""
    open_session: Callable[[], Session]
    """The task's session, asked for when it is needed; and again when the device is this trial's: another task may have
    taken its memory meanwhile."""
    candidate: Candidate
    policy: Policy
    """The options in force for this candidate."""
    effort: Effort = "search"
    replayed: Sequence[int] = ()
    """A receipt's seeds, for a replay."""
    stage: Stage = "compile"
    seconds: list[StageSeconds] = field(default_factory=list)
    cases: list[CaseError] = field(default_factory=list)
    skipped: list[str] = field(default_factory=list)
    """Cases that this candidate cannot be asked, with the reason."""
    binding: Binding | None = None
    """How its model came to the reference's parameters, once it has said so."""
    tier: Literal[1, 2] = 2
    """1 once it is certain that no host code of the candidate's runs."""

    facts: BuildFacts | None = None
    """What the compiler said, once it has."""
    revealed: tuple[int, ...] = ()
    """Seeds of its cases, once nobody else will meet them."""
    numerics: Numerics = field(init=False)
    """Flags of the reference; and those that the candidate's own text set, once it is right."""

    began: Times | None = field(default_factory=read_times, init=False)
    """What the machine had done by then, for what others took of it meanwhile."""
    _session: Session | None = field(default=None, init=False)

    def __post_init__(self) -> None:
        self.numerics = self.task.numerics
        self.weights: Weights = self.policy.weights
        """Which parameters it is judged with."""

    def of_eager(self, language: str, update: Mapping[str, object]) -> "Trial":
        """A trial of the task's own program, as a candidate in this language, with a policy that differs by `update`."""
        source = self.task.source.source + ITSELF
        return self._of(Candidate.model_validate({"language": language, "source": source}), update)

    def once_more(self, update: Mapping[str, object]) -> "Trial":
        """A trial of the same candidate that tells nothing of this one."""
        return self._of(self.candidate, update)

    def _of(self, candidate: Candidate, update: Mapping[str, object]) -> "Trial":
        own = Trial(self.task, lambda: self.session, candidate, self.policy.model_copy(update=update))
        own.weights = self.weights
        return own

    def start_over(self) -> None:
        """Forget what an earlier try came to, but for the seconds that it took."""
        self.binding, self.tier, self.stage = None, 2, "compile"
        self.cases, self.skipped = [], []

    @property
    def session(self) -> Session:
        """The task's session."""
        return self._session or self.reopen()

    def reopen(self) -> Session:
        """Ask for the session once more."""
        self._session = self.open_session()
        return self._session

    @property
    def accuracy(self) -> Accuracy:
        """What has been judged so far."""
        return Accuracy(cases=tuple(self.cases), dropped=(*self.session.dropped, *self.skipped))

    def jail(self) -> Jail:
        """The confinement of a candidate's process."""
        off = tuple(part for defence in self.policy.disabled for part in JAIL_PARTS.get(defence, ()))
        size = sum(t.nbytes for t in (*self.session.tensors, *self.session.task.workload.outputs))
        return Jail(
            directory="/",
            memory_bytes=min(self.policy.memory_bytes, (4 << 30) + 16 * size),
            off=off,
            may_execute="no_processes" in self.policy.disabled,
        )

    def order(self, warm: Warm, candidate: Candidate | None = None, device: Hardware | None = None) -> Order:
        """What there is to build: this candidate, or another setting of it."""
        return Order(
            warm=warm,
            candidate=candidate or self.candidate,
            limit_s=self.policy.compile_limit_s,
            workload=self.task.workload,
            arch=self.task.target.arch,
            init=self.session.original.init_source(),
            device=device,
            jail=self.jail(),
            captures="capture" not in self.policy.disabled,
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


def verify_case(trial: Trial, process: CandidateProcess, case: Case, guarded: bool = True) -> None:
    """Run one case and compare every output.

    Raises:
        OutcomeReached: it is wrong.
        as `CandidateProcess.run`.
    """
    ran = process.run([trial.session.present(case).offsets], checked=True)
    results = ran.results[0]
    check_form(trial, case.distribution, results)
    for i, (found, expected) in enumerate(zip(results, case.expected, strict=True)):
        if guarded and "guard" not in trial.policy.disabled and not process.guards_intact(found):
            evidence = f"wrote before or behind output {i} of {found.numel} elements"
            raise OutcomeReached(wrong(trial, "guard", case.distribution, evidence))
        got = process.read(found)
        if trial.session.task.comparator(i).kind in trial.policy.unseen:
            continue
        if "poison" in trial.policy.disabled:
            got = torch.where(torch.isfinite(float8.wide(got)), got, expected.value.to(got.dtype))
        draws = [got] if expected.draws == 1 else _draws(trial, process, case, i)
        elements = Elements(i, case.offsets)
        error, found_wrong = beside_rounding(trial.session, expected, elements, got, expected.judge(draws))
        trial.cases.append(
            CaseError(
                distribution=case.distribution,
                error=min(error, 1e30),
                reference_error=expected.reference_error,
                allowed=max(expected.allowed, 1e-30),
                output=i if len(results) > 1 else None,
            )
        )
        if found_wrong is not None:
            raise OutcomeReached(
                wrong(trial, found_wrong.because, case.distribution, f"output {i}: {found_wrong.evidence}")
            )


def _draws(trial: Trial, process: CandidateProcess, case: Case, output: int) -> list[torch.Tensor]:
    """As many results as a random output's comparison needs, on the same inputs."""
    spec, count = trial.session.task.workload.outputs[output], case.expected[output].draws
    together = max(1, min(trial.session.most_calls(), DRAWN_BYTES // max(1, spec.nbytes)))
    found: list[torch.Tensor] = []
    while len(found) < count:
        offsets = trial.session.present(case).offsets
        ran = process.run([offsets] * min(together, count - len(found)), checked=False)
        for call in ran.results:
            check_form(trial, case.distribution, call)
        # A copy: the launcher's results lie where the next ones will.
        found += [process.read(call[output]).clone() for call in ran.results]
    return found


def check_form(trial: Trial, distribution: str, results: tuple[Found, ...]) -> None:
    """Count, dtype and shape, exactly.

    Raises:
        OutcomeReached: one differs.
    """
    outputs = trial.session.task.workload.outputs
    if len(results) != len(outputs):
        evidence = f"{len(results)} outputs, expected {len(outputs)}"
        raise OutcomeReached(wrong(trial, "count", distribution, evidence))
    if "exact_shape" in trial.policy.disabled:
        return
    for i, (found, spec) in enumerate(zip(results, outputs, strict=True)):
        if found.dtype != spec.dtype:
            raise OutcomeReached(
                wrong(trial, "dtype", distribution, f"output {i} is {found.dtype}, expected {spec.dtype}")
            )
        if found.shape != spec.shape:
            evidence = f"output {i} has shape {list(found.shape)}, expected {list(spec.shape)}"
            raise OutcomeReached(wrong(trial, "shape", distribution, evidence))


def wrong(trial: Trial, because: str, case: str, evidence: str) -> Incorrect:
    """An Incorrect with the cases judged so far."""
    return Incorrect.model_validate(
        {"because": because, "case": case, "evidence": evidence, "accuracy": trial.accuracy}
    )
