"""Evaluation: what the referee found, a closed union of outcomes; how parameters were bound, and a new best audited.

Only `Measured` has a time and competes on it; a wrong kernel has none; an illegal combination cannot
be constructed. A bad kernel is one of these values; only broken machinery raises.
"""

from typing import Annotated, Literal

from pydantic import Field, TypeAdapter

from kernelwright.records.base import Record
from kernelwright.records.defences import ProbeName
from kernelwright.records.measure import Accuracy, BuildFacts, Load, Ratio, Roofline, Timing
from kernelwright.records.numerics import Numerics
from kernelwright.records.workloads import WorkloadPoint

Weights = Literal["fresh", "constant", "construction"]
"""`fresh`: other parameters in every call. `constant`: one set for a whole evaluation, given before the first call.
`construction`: those with which both models were built, because the candidate's could not be given others."""
Name = Annotated[str, Field(max_length=400)]
Names = Annotated[tuple[Name, ...], Field(max_length=20_000)]


class Binding(Record):
    """How a candidate's model came to the reference's parameters, by the reference's names."""

    by_name: int = 0
    """How many have the reference's name and shape."""
    by_value: Names = ()
    """`theirs = ours`: of equal shape and equal values when both models were built under one seed."""
    by_order: Names = ()
    """`theirs = ours`: the rest, where shapes agree one by one."""
    by_method: bool = False
    """The model's own `load_reference(state_dict)` takes them all."""
    left: Names = ()
    """The reference's that nothing in the model holds."""
    constant: Names = ()
    """The model's own tensors that are none of the reference's: they stay as they were built."""


class Probe(Record):
    """One probe and what it found."""

    name: ProbeName
    status: Literal["passed", "failed", "not_run"]
    evidence: str
    """What was seen; for a probe that was not run, why not."""
    seconds: float = 0.0
    """Wall time."""


class Audit(Record):
    """How a new best was audited: all probes of one candidate, in the order in which they were made.

    A failed probe ends the evaluation as another outcome, so an `Audit` that is kept has none.
    """

    probes: tuple[Probe, ...]
    own_share: float | None = None
    """Share of the device's time that its own kernels took, 0 to 1; None where nothing could tell."""

    @property
    def seconds(self) -> float:
        """Wall time of all probes."""
        return sum(p.seconds for p in self.probes)


Stage = Literal["compile", "load", "verify", "measure", "promote"]


class StageSeconds(Record):
    """Wall time that one stage of the referee took."""

    stage: str
    seconds: float


class _Outcome(Record):
    """What every outcome carries."""

    seconds: tuple[StageSeconds, ...] = ()
    tier: Literal[1, 2] = 2
    """1: host code and clock are the referee's own; 2: the candidate's host code ran."""
    disabled: tuple[str, ...] = ()
    """Defences that a test had switched off; never empty in silence."""
    weights: Weights = "fresh"
    """Which parameters it was judged with. `construction` is weaker than what was asked for: those under which its model was
    built, because it could not be given others."""
    binding: Binding | None = None
    """How its model came to the reference's parameters; None of what is no module, or did not get so far."""
    device: str = ""
    """Where it was judged; empty for what was refused without a device."""
    numerics: Numerics | None = None
    """PyTorch's precision flags in the reference, and where the kernel's own text set others, those too."""
    seeds: tuple[int, ...] = ()
    """The secret seeds of the cases, revealed after a final's verdict in the order of use; none for a search."""
    cached_from: str = ""
    """The run that made this evaluation, when it was found in the search cache; empty: it was made here."""
    workloads: tuple["WorkloadResult", ...] = ()
    """Of a task with several workloads, what each came to, in the order in which they were judged; the rest of this record is
    what they come to together (`evaluate/over_workloads.py`). The last one is why, where it is not right."""

    @property
    def total_seconds(self) -> float:
        """Wall time of all stages."""
        return sum(s.seconds for s in self.seconds)

    @property
    def stage_seconds(self) -> dict[str, float]:
        """Wall time by stage, in the order in which stages first appear; some have several parts."""
        spent: dict[str, float] = {}
        for part in self.seconds:
            spent[part.stage] = spent.get(part.stage, 0.0) + part.seconds
        return spent

    @property
    def paid_seconds(self) -> float:
        """What of that this run spent: nothing where another run's evaluation was taken over."""
        return 0.0 if self.cached_from else self.total_seconds


class Refused(_Outcome):
    """Not even built: the candidate breaks the contract or the policy."""

    outcome: Literal["refused"] = "refused"
    reason: str


class BuildFailed(_Outcome):
    """The compiler refused it; `log` is what the proposer gets to read."""

    outcome: Literal["build_failed"] = "build_failed"
    log: str


class Crashed(_Outcome):
    """The candidate process ended by itself: a signal, an exception, an exit; or the device had no memory left beside it."""

    outcome: Literal["crashed"] = "crashed"
    stage: Stage
    reason: str
    """Such as `killed by SIGSEGV`, `exited with status 0 before it answered`, `MemoryError`."""
    log: str = ""
    build: BuildFacts | None = None
    """What the compiler said, where it got so far."""


class TimedOut(_Outcome):
    """The stage was killed, with its whole process group, at its limit."""

    outcome: Literal["timed_out"] = "timed_out"
    stage: Stage
    limit_s: float
    build: BuildFacts | None = None
    """What the compiler said, where it got so far."""


WrongBecause = Literal[
    "value", "nonfinite", "shape", "dtype", "count", "unwritten", "guard", "input_mutated", "timed_output",
    "race", "perturbation", "stale", "shared_results", "memory_error",
]  # fmt: skip


class Incorrect(_Outcome):
    """It ran and was wrong. No time is recorded for a wrong kernel."""

    outcome: Literal["incorrect"] = "incorrect"
    because: WrongBecause
    case: str
    """The distribution of inputs on which it was wrong."""
    evidence: str
    """One sentence with the numbers: which output, which element, expected and got."""
    accuracy: Accuracy = Accuracy(cases=())
    """The cases judged up to and including the wrong one."""
    build: BuildFacts | None = None
    """What the compiler said, where it got so far."""


class Suspect(_Outcome):
    """It looks right and fast, in a way that honest code does not."""

    outcome: Literal["suspect"] = "suspect"
    because: Literal["below_floor", "clock_disagrees", "hidden_work", "batched", "tampering", "decoration"]
    evidence: str
    load: Load | None = None
    """What else the machine did, where that may be why: judged again on a quiet one, it may be found honest."""
    build: BuildFacts | None = None
    """What the compiler said, where it got so far."""


class Compiled(_Outcome):
    """Built, and not run: its device is not here, or nobody asked for more."""

    outcome: Literal["compiled"] = "compiled"
    build: BuildFacts
    why: str = ""
    """Why the interpreter could not judge it; empty where nothing interprets its language."""


class Verified(_Outcome):
    """Right, and not timed: `how` says on what (an interpreter, reduced shapes)."""

    outcome: Literal["verified"] = "verified"
    build: BuildFacts
    accuracy: Accuracy
    how: str


class Measured(_Outcome):
    """Right in every case, and timed against every baseline."""

    outcome: Literal["measured"] = "measured"
    build: BuildFacts
    accuracy: Accuracy
    timing: Timing
    roofline: Roofline
    audit: Audit | None = None
    """The probes of a new best; None where it was only searched for."""
    library_share: Annotated[float, Field(ge=0, le=1)] | None = None
    """Share of its time that PyTorch's own operators take, as its process says; None where nobody told."""


Evaluation = Annotated[
    Refused | BuildFailed | Crashed | TimedOut | Incorrect | Suspect | Compiled | Verified | Measured,
    Field(discriminator="outcome"),
]
"""What the referee found of one kernel: exactly one of nine outcomes, of which only `Measured` has a time."""


class WorkloadResult(Record):
    """What a kernel came to on one workload, or at a size that the referee drew."""

    point: WorkloadPoint
    drawn: bool = False
    """It is no workload of the task's: the referee chose the sizes, and nobody knew them before."""
    evaluation: Evaluation | None = None
    """None: the reference itself cannot be judged there."""
    skipped: str = ""
    """Why not."""
    written_for: str = ""
    """The one other workload that the kernel's text takes its sizes from; empty where it takes them as they come."""


for _outcome in (Refused, BuildFailed, Crashed, TimedOut, Incorrect, Suspect, Compiled, Verified, Measured):
    _outcome.model_rebuild()
EVALUATION: TypeAdapter[Evaluation] = TypeAdapter(Evaluation)
"""Reads an Evaluation back from JSON."""

OUTCOMES = (
    "measured", "verified", "compiled", "incorrect", "suspect",
    "crashed", "timed_out", "build_failed", "refused",
)  # fmt: skip
"""Every outcome's name, best first."""


def failed_to_build(evaluation: Evaluation) -> bool:
    """The compiler said no, or died of it. What was refused never came before it."""
    match evaluation:
        case BuildFailed() | Crashed(stage="compile") | TimedOut(stage="compile"):
            return True
    return False


def is_right(evaluation: Evaluation) -> bool:
    """Right in every case, timed or not. What was only compiled is neither right nor wrong."""
    return isinstance(evaluation, Measured | Verified)


def speedup_over_eager(evaluation: Evaluation) -> Ratio | None:
    """Eager's time by the kernel's, with its interval; None for whatever was not measured."""
    versus = evaluation.timing.against("eager") if isinstance(evaluation, Measured) else None
    return versus.speedup if versus else None


def merit(evaluation: Evaluation) -> tuple[int, float]:
    """Orders evaluations: the better outcome first, then the larger lower bound of the speedup over eager.

    A blurred speedup counts as none: what a busy machine did to it would decide.
    """
    outcome = "build_failed" if failed_to_build(evaluation) else evaluation.outcome
    speedup = speedup_over_eager(evaluation)
    return -OUTCOMES.index(outcome), speedup.sure if speedup else 0.0
