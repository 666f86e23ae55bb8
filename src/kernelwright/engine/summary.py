"""The figures that every interface shows, taken from the records: one place, so that all agree.

No figure is computed here that is not in a record.
"""

from collections.abc import Sequence

from pydantic import Field

from kernelwright.languages import language
from kernelwright.records.across import ranked
from kernelwright.records.answer import AnswerWord, answer_of, why_missing, worth
from kernelwright.records.attempt import Attempt
from kernelwright.records.base import Record
from kernelwright.records.brief import briefs
from kernelwright.records.candidate import Candidate
from kernelwright.records.evaluation import (
    Binding,
    Compiled,
    Evaluation,
    Incorrect,
    Measured,
    Verified,
    Weights,
    WorkloadResult,
    is_right,
)
from kernelwright.records.feedback import Statement
from kernelwright.records.measure import CaseError, Load, Ratio, Verdict
from kernelwright.records.names import LanguageName
from kernelwright.records.numerics import Numerics
from kernelwright.records.profile import Profile
from kernelwright.records.reasons import reason_of
from kernelwright.records.run import Environment, Outcome, RunCard, Spending, least_speedup, spending
from kernelwright.records.task import Target, Task
from kernelwright.report.headline import headline
from kernelwright.report.tally import counts as count_outcomes
from kernelwright.report.tally import reasons
from kernelwright.store.run import RunStore


class WorkloadFigures(Record):
    """What one workload came to, or a size that the referee drew."""

    name: str
    axes: dict[str, int]
    weight: float
    protected: bool
    drawn: bool
    outcome: str
    """Empty where the reference itself cannot be judged there."""
    latency_us: float | None = None
    speedup_eager: Ratio | None = None
    verdict: Verdict | None = None
    speedup_compile: Ratio | None = None
    verdict_compile: Verdict | None = None


class Figures(Record):
    """What the clock said of one kernel; all None where nothing was timed."""

    latency_us: float | None = None
    answer: AnswerWord = "wrong"
    """How it stands beside eager, in one word."""
    speedup_eager: Ratio | None = None
    """None where nothing was compared, or the interval tells of noise alone; so with the others."""
    speedup_compile: Ratio | None = None
    verdict: Verdict | None = None
    """Against eager."""
    verdict_compile: Verdict | None = None
    speedup_freeze: Ratio | None = None
    """Against torch.compile that folds the weights, where they are constant."""
    verdict_freeze: Verdict | None = None
    roofline: float | None = None
    """Share of the measured bandwidth; 1 also where caches gave more."""
    load: Load | None = None
    """What else the machine did while it timed."""
    process_spread: float = 0.0
    """What processes of one program differ by there: no verdict tells less."""
    missing: dict[str, str] = Field(default_factory=dict)
    """Baselines that were asked for and could not be made, each with the reason."""
    workloads: tuple[WorkloadFigures, ...] = ()
    """Of several, each, the protected and the worst first; the figures above are then the geometric mean by weight."""


class BestKernel(Figures):
    """The kernel that a run ends with."""

    attempt: int
    language: LanguageName
    final: bool
    """Measured again with fresh inputs; False: a figure of the search, which is not for publishing."""
    kernel: str
    """Its source, with the tunables named in `defines`."""
    defines: dict[str, int]
    writer: str = ""
    """Which of several proposers wrote it; empty where there is one."""


class RunSummary(Record):
    """A run in figures."""

    run: str
    folder: str
    task: str
    target: Target
    device: str
    attempts: int
    outcomes: dict[str, int]
    """Attempts by outcome, the best outcome first."""
    reasons: dict[int, str] = Field(default_factory=dict)
    """Why attempts were not right, by their number; the same reason once."""
    doubtful: int = 0
    """Attempts that were timed while the machine was busy with other work."""
    best: BestKernel | None
    answer: AnswerWord
    """What may be said of the run's best in one word: that of its final, or of its search where none was asked for."""
    said: str
    """The same in a line, as at the head of the report."""
    why: str
    """What it rests on, and what to do where it does not stand."""
    pytorch_stays: bool = False
    """The best is not surely faster than eager by what was asked for: it is shown, and not written as a drop-in."""
    models: tuple[Spending, ...] = ()
    """Calls, tokens and money by role; empty without a model."""
    stopped: str
    complete: bool
    """False: `resume` goes on."""
    running: bool = False
    """Another process is working on it now."""
    unproved: str = ""
    """Why nothing proves that the run's rows are what was written; empty where their seals do."""

    @property
    def goes_on(self) -> bool:
        """Whether `resume` has something to do: to go on, or to measure once more what other work disturbed."""
        return not self.complete or (self.answer == "disturbed" and (self.best is None or self.best.final))


class UnreadableRun(Record):
    """A folder whose run cannot be summed up."""

    folder: str
    error: str
    """What is wrong with it and how to go on."""


class CheckSummary(Figures):
    """One kernel's verdict."""

    task: str
    target: Target
    device: str
    language: LanguageName
    outcome: str
    right: bool
    reason: str
    """One sentence; empty for a kernel that is right."""
    errors: tuple[CaseError, ...]
    """Each case against fp64."""
    how: str = ""
    """On what it was found right where it was not timed: an interpreter, and its shapes. Empty where it was timed."""
    own_kernels: int | None
    """Kernels of its own that it launches; None where it was not told."""
    own_share: float | None
    """Share of the device's time that they took, 0 to 1; None where nothing could tell."""
    library_share: float | None
    """Share of its time that PyTorch's own operators take, as its process says; None where nobody told."""
    weights: Weights
    """Which parameters it was judged with; `construction` is a weaker verdict than was asked for."""
    binding: Binding | None
    """How its model came to the reference's parameters; None of what is no module."""
    seconds: float
    ignored: tuple[str, ...] = ()
    """Buffers that the reference's forward writes to and whose new values were not compared."""
    numerics: Numerics | None = None
    """PyTorch's precision flags in the reference, and where the kernel set others, those too."""
    untraced: str = ""
    """Why it was judged without a graph of the reference, which is weaker; empty where there is one."""


class ProfileSummary(CheckSummary):
    """A verdict of a search's length, where the kernel's time goes, and what holds it back."""

    profile: Profile
    statement: Statement


def figures_of(evaluation: Evaluation) -> Figures:
    """What the clock said of one evaluation."""
    rows = tuple(_workload(row) for row in ranked(evaluation.workloads))
    if not isinstance(evaluation, Measured):
        return Figures(answer=answer_of(evaluation), workloads=rows)
    timing = evaluation.timing
    found = {name: timing.against(name) for name in ("eager", "compile", "freeze")}
    ratios = {name: v.speedup if v and not v.speedup.wild else None for name, v in found.items()}
    verdicts = {name: v.verdict if v else None for name, v in found.items()}
    return Figures(
        latency_us=timing.latency_us,
        answer=answer_of(evaluation),
        speedup_eager=ratios["eager"],
        verdict=verdicts["eager"],
        speedup_compile=ratios["compile"],
        verdict_compile=verdicts["compile"],
        speedup_freeze=ratios["freeze"],
        verdict_freeze=verdicts["freeze"],
        roofline=min(1.0, evaluation.roofline.fraction),
        load=timing.load,
        process_spread=timing.process_spread,
        missing=why_missing(timing),
        workloads=rows,
    )


def _workload(row: WorkloadResult) -> WorkloadFigures:
    found = figures_of(row.evaluation) if row.evaluation is not None else Figures()
    names = ("latency_us", "speedup_eager", "verdict", "speedup_compile", "verdict_compile")
    return WorkloadFigures(
        **row.point.model_dump(include={"name", "axes", "weight", "protected"}),
        drawn=row.drawn,
        outcome=row.evaluation.outcome if row.evaluation is not None else "",
        **{name: getattr(found, name) for name in names},
    )


def summarize(store: RunStore) -> RunSummary:
    """A run in figures, also while it is running."""
    card, attempts, outcome = store.card, store.history(), store.outcome()
    complete = outcome is not None and outcome.complete
    claim = headline(card, attempts, outcome)
    running = not complete and store.live
    return RunSummary(
        run=card.id,
        folder=str(store.folder),
        task=card.task.name,
        target=card.task.target,
        device=card.environment.device.name,
        attempts=len(attempts),
        outcomes=count_outcomes(attempts),
        reasons=reasons(attempts),
        doubtful=sum(attempt.busy is not None for attempt in briefs(attempts)),
        best=best_of(attempts, outcome),
        answer=claim.answer,
        said=claim.title,
        why=claim.explanation,
        pytorch_stays=pytorch_stays(card, speaker(attempts, outcome)),
        models=spending(store.conversations()),
        stopped="Still running." if running else outcome.stopped if outcome else "It was killed, or is about to begin.",
        complete=complete,
        running=running,
        unproved=store.unproved,
    )


def best_of(attempts: Sequence[Attempt], outcome: Outcome | None) -> BestKernel | None:
    """The run's best, with its final figure where there is one."""
    attempt = speaker(attempts, outcome)
    if attempt is None:
        return None
    candidate = attempt.proposal.candidate
    return BestKernel(
        attempt=attempt.number,
        language=candidate.language,
        final=outcome is not None and outcome.final is not None,
        kernel=candidate.source,
        defines={define.name: define.value for define in candidate.defines},
        writer=attempt.proposal.writer,
        **dict(figures_of(attempt.evaluation)),
    )


def speaker(attempts: Sequence[Attempt], outcome: Outcome | None) -> Attempt | None:
    """The attempt that speaks for a run: the final one, otherwise the best of the search."""
    if outcome is None or outcome.best is None:
        return None
    return outcome.final or attempts[outcome.best]


def disturbed(outcome: Outcome) -> bool:
    """Whether other work on the machine kept a run from its final figure, so that it is worth measuring once more."""
    return outcome.final is not None and answer_of(outcome.final.evaluation) == "disturbed"


def pytorch_stays(card: RunCard, best: Attempt | None) -> bool:
    """Whether the best kernel is not worth having, by what the run's configuration asks of one."""
    return best is not None and not worth(best.evaluation, least_speedup(card.config))


def check_of(task: Task, environment: Environment, candidate: Candidate, evaluation: Evaluation) -> CheckSummary:
    """The verdict on one kernel."""
    judged = evaluation if isinstance(evaluation, Measured | Verified | Incorrect) else None
    audit = evaluation.audit if isinstance(evaluation, Measured) else None
    work, buffers = task.workload, {p.name for p in task.workload.parameters}
    return CheckSummary(
        task=task.name,
        target=task.target,
        device=environment.device.name,
        language=candidate.language,
        outcome=evaluation.outcome,
        right=is_right(evaluation),
        reason=reason_of(evaluation),
        errors=judged.accuracy.cases if judged else (),
        how=evaluation.how if isinstance(evaluation, Verified) else "",
        own_kernels=own_kernels(candidate, evaluation),
        own_share=audit.own_share if audit else None,
        library_share=evaluation.library_share if isinstance(evaluation, Measured) else None,
        weights=evaluation.weights,
        binding=evaluation.binding,
        seconds=evaluation.total_seconds,
        ignored=tuple(name for name in work.changes if name in buffers and name not in work.state),
        numerics=evaluation.numerics,
        untraced=task.graph.untraced,
        **dict(figures_of(evaluation)),
    )


def own_kernels(candidate: Candidate, evaluation: Evaluation) -> int | None:
    """How many kernels of its own a candidate has; of a module that builds an extension nobody counts them."""
    written = language(candidate.language)
    if written.kernels == "one":
        return 1
    if written.leaves_all(candidate.source):
        return 0
    if written.kernels == "unknown" or not isinstance(evaluation, Measured | Verified | Compiled):
        return None
    return len({kernel.name for kernel in evaluation.build.kernels})
