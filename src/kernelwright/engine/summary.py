"""The figures that every interface shows, taken from the records: one place, so that all agree.

No figure is computed here that is not in a record.
"""

from collections import Counter
from collections.abc import Sequence

from kernelwright.languages import language
from kernelwright.records.attempt import Attempt, beats_eager, busy_load
from kernelwright.records.base import Record
from kernelwright.records.binding import Binding, Weights
from kernelwright.records.candidate import Candidate
from kernelwright.records.evaluation import (
    OUTCOMES,
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
from kernelwright.records.feedback import Statement
from kernelwright.records.measure import CaseError, Load, Ratio, Verdict
from kernelwright.records.names import LanguageName
from kernelwright.records.numerics import Numerics
from kernelwright.records.profile import Profile
from kernelwright.records.run import Environment, Outcome, RunCard, Spending, least_speedup, spending
from kernelwright.records.task import Target, Task, Workload
from kernelwright.store.run import RunStore


class Figures(Record):
    """What the clock said of one kernel; all None where nothing was timed."""

    latency_us: float | None = None
    speedup_eager: Ratio | None = None
    speedup_compile: Ratio | None = None
    verdict: Verdict | None = None
    """Against eager."""
    verdict_compile: Verdict | None = None
    speedup_freeze: Ratio | None = None
    """Against torch.compile that folds the weights, where they are constant."""
    verdict_freeze: Verdict | None = None
    roofline: float | None = None
    """Share of the measured bandwidth."""
    load: Load | None = None
    """What else the machine did while it timed."""
    process_spread: float = 0.0
    """What processes of one program differ by there: no verdict tells less."""


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
    doubtful: int = 0
    """Attempts that were timed while the machine was busy with other work."""
    best: BestKernel | None
    pytorch_stays: bool = False
    """The best is not surely faster than eager by what was asked for: it is shown, and not written as a drop-in."""
    models: tuple[Spending, ...] = ()
    """Calls, tokens and money by role; empty without a model."""
    stopped: str
    complete: bool
    """False: `resume` goes on."""
    running: bool = False
    """Another process is working on it now."""


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


class ProfileSummary(CheckSummary):
    """A verdict of a search's length, where the kernel's time goes, and what holds it back."""

    profile: Profile
    statement: Statement


def figures_of(evaluation: Evaluation) -> Figures:
    """What the clock said of one evaluation."""
    if not isinstance(evaluation, Measured):
        return Figures()
    timing = evaluation.timing
    eager, compiled, frozen = (timing.against(name) for name in ("eager", "compile", "freeze"))
    return Figures(
        latency_us=timing.latency_us,
        speedup_eager=eager.speedup if eager else None,
        verdict=eager.verdict if eager else None,
        speedup_compile=compiled.speedup if compiled else None,
        verdict_compile=compiled.verdict if compiled else None,
        speedup_freeze=frozen.speedup if frozen else None,
        verdict_freeze=frozen.verdict if frozen else None,
        roofline=evaluation.roofline.fraction,
        load=timing.load,
        process_spread=timing.process_spread,
    )


def summarize(store: RunStore) -> RunSummary:
    """A run in figures, also while it is running."""
    card, attempts, outcome = store.card, store.attempts(), store.outcome()
    complete = outcome is not None and outcome.complete
    running = not complete and store.live
    return RunSummary(
        run=card.id,
        folder=str(store.folder),
        task=card.task.name,
        target=card.task.target,
        device=card.environment.device.name,
        attempts=len(attempts),
        outcomes=count_outcomes(attempts),
        doubtful=sum(busy_load(attempt) is not None for attempt in attempts),
        best=best_of(attempts, outcome),
        pytorch_stays=pytorch_stays(card, speaker(attempts, outcome)),
        models=spending(store.messages()),
        stopped="Still running." if running else outcome.stopped if outcome else "It was killed, or is about to begin.",
        complete=complete,
        running=running,
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


def pytorch_stays(card: RunCard, best: Attempt | None) -> bool:
    """Whether the best kernel is not worth having, by what the run's configuration asks of one."""
    return best is not None and not beats_eager(best, least_speedup(card.config))


def count_outcomes(attempts: Sequence[Attempt]) -> dict[str, int]:
    """Attempts by outcome, the best outcome first, without those that never came up."""
    counts: Counter[str] = Counter(attempt.evaluation.outcome for attempt in attempts)
    return {name: counts[name] for name in OUTCOMES if counts[name]}


def check_of(task: Task, environment: Environment, candidate: Candidate, evaluation: Evaluation) -> CheckSummary:
    """The verdict on one kernel."""
    judged = evaluation if isinstance(evaluation, Measured | Verified | Incorrect) else None
    audit = evaluation.audit if isinstance(evaluation, Measured) else None
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
        ignored=_ignored(task.workload),
        numerics=evaluation.numerics,
        **dict(figures_of(evaluation)),
    )


def _ignored(workload: Workload) -> tuple[str, ...]:
    buffers = {p.name for p in workload.parameters}
    return tuple(name for name in workload.changes if name in buffers and name not in workload.state)


def own_kernels(candidate: Candidate, evaluation: Evaluation) -> int | None:
    """How many kernels of its own a candidate has; of a module that builds an extension nobody counts them."""
    if candidate.language == "cpp":
        return 1
    if language(candidate.language).leaves_all(candidate.source):
        return 0
    if candidate.language == "python" or not isinstance(evaluation, Measured | Verified | Compiled):
        return None
    return len({kernel.name for kernel in evaluation.build.kernels})


def profile_of(check: CheckSummary, profile: Profile, statement: Statement) -> ProfileSummary:
    """The verdict on one kernel, with where its time goes."""
    return ProfileSummary(**dict(check), profile=profile, statement=statement)


def reason_of(evaluation: Evaluation) -> str:
    """Why a kernel was not found right, in one sentence; empty if it was."""
    match evaluation:
        case Refused(reason=reason):
            return reason
        case BuildFailed(log=log):
            return log.strip()
        case Crashed(stage=stage, reason=reason):
            return f"{reason} (while it was to {stage})"
        case TimedOut(stage=stage, limit_s=limit):
            return f"still busy after {limit:g} s (while it was to {stage})"
        case Incorrect(case=case, evidence=evidence):
            return f"{evidence} (case {case})"
        case Suspect(evidence=evidence):
            return evidence
    return "it was not run, since there is no such device here" if evaluation.outcome == "compiled" else ""
