"""One candidate before the referee: what is known of it so far, how a stage ends early, and one case of it verified."""

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Literal

from kernelwright.evaluate.languages.builder import Order
from kernelwright.evaluate.sandbox.child import ChildGoneError, ChildSlowError
from kernelwright.evaluate.sandbox.jail import Jail
from kernelwright.evaluate.sandbox.process import ChildRaisedError, ProcessOptions, TamperedError
from kernelwright.evaluate.sandbox.spawn import Warm
from kernelwright.evaluate.session.session import Session, Size
from kernelwright.evaluate.timing.load import Times, read_times
from kernelwright.knowledge.hardware import Hardware
from kernelwright.records.candidate import Candidate
from kernelwright.records.evaluation import Binding, Evaluation, Stage, StageSeconds, Weights
from kernelwright.records.measure import Accuracy, BuildFacts, CaseError
from kernelwright.records.numerics import Numerics
from kernelwright.records.policy import Effort, Policy
from kernelwright.records.task import Task


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
class Findings:
    """What the stages have found out about a candidate; from `stage` on, of the present attempt at it."""

    numerics: Numerics
    """Flags of the reference; and those that the candidate's own text set, once it is right."""
    seconds: list[StageSeconds] = field(default_factory=list)
    facts: BuildFacts | None = None
    """What the compiler said, once it has."""
    revealed: tuple[int, ...] = ()
    """Seeds of its cases, once nobody else will meet them."""
    stage: Stage = "compile"
    """Where the candidate stands."""
    tier: Literal[1, 2] = 2
    """1 once it is certain that no host code of the candidate's runs."""
    binding: Binding | None = None
    """How its model came to the reference's parameters, once it has said so."""
    cases: list[CaseError] = field(default_factory=list)
    elsewhere: Size | None = None
    """At which size of the task it could be judged, where it could not be at this one."""
    skipped: list[str] = field(default_factory=list)
    """Cases that this candidate cannot be asked, with the reason."""


@dataclass
class Trial:
    """One candidate before the referee: what is given, and in `found` what the stages found out."""

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
    began: Times | None = field(default_factory=read_times, init=False)
    """What the machine had done by then, for what others took of it meanwhile."""
    found: Findings = field(init=False)
    _session: Session | None = field(default=None, init=False)

    def __post_init__(self) -> None:
        self.found = Findings(self.task.numerics)
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
        before = self.found
        self.found = Findings(before.numerics, before.seconds, before.facts, before.revealed)

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
        session = self.session
        dropped = (*session.without_graph, *session.dropped, *self.found.skipped)
        return Accuracy(cases=tuple(self.found.cases), dropped=dropped)

    def jail(self) -> Jail:
        """The confinement of a candidate's process."""
        defences = self.policy.defences
        size = sum(t.nbytes for t in (*self.session.tensors, *self.session.task.workload.outputs))
        return Jail(
            directory="/",
            memory_bytes=min(self.policy.memory_bytes, (4 << 30) + 16 * size),
            off=defences.sandbox_off,
            may_execute=not defences.no_processes,
        )

    def process_options(self, relieve: Callable[[], None] | None = None) -> ProcessOptions:
        """How a candidate's process is asked; `relieve` is as there."""
        defences = self.policy.defences
        return ProcessOptions(freeze=defences.freeze, serials=defences.honest_reply, relieve=relieve)

    def order(self, warm: Warm, candidate: Candidate | None = None, device: Hardware | None = None) -> Order:
        """What there is to build: this candidate, or another setting of it."""
        return Order(
            warm=warm,
            candidate=candidate or self.candidate,
            limit_s=self.policy.compile_limit_s,
            workload=self.task.workload,
            arch=self.task.target.arch,
            init=self.session.original.init_source(full=True),
            device=device,
            jail=self.jail(),
            captures=self.policy.defences.capture,
        )

    @contextmanager
    def timed(self, stage: Stage) -> Iterator[None]:
        """Account for a stage's wall time, and name it in outcomes that happen in it."""
        self.found.stage = stage
        start = time.perf_counter()
        try:
            yield
        finally:
            self.found.seconds.append(StageSeconds(stage=stage, seconds=time.perf_counter() - start))
