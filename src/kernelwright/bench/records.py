"""What a bench finds: cells, arms, curves, and the whole comparison as it stands in `bench.json`."""

from typing import Literal

from kernelwright.bench.plan import Arm, BenchPlan, Cell
from kernelwright.records.base import Record
from kernelwright.records.measure import Ratio

Status = Literal["done", "gave_up", "not_admitted", "no_answer", "broken", "unpaid", "pending"]
"""`done`: the run is complete; `gave_up`: its proposer cannot write this task; `not_admitted`: the task cannot be
judged; `no_answer`: the model failed; `broken`: referee or journal failed; `unpaid`: what all cells may spend together
did not cover it; `pending`: not begun, or interrupted."""

FAILED: tuple[Status, ...] = ("gave_up", "not_admitted", "no_answer")
"""Without a kernel, and known to be: they count as not solved. Of the rest nothing is known yet."""

Baseline = Literal["eager", "compile"]
DRILL_LABEL = "drill, not a model's result"


class TraceStep(Record):
    """One attempt of a cell: what it brought and what had been spent with it."""

    outcome: str
    right: bool
    """Measured, or verified where nothing can be timed."""
    eager: Ratio | None = None
    """Search figure: it steers, and is not for publishing."""
    compile: Ratio | None = None
    device_s: float
    """Seconds of evaluation and profiling up to and including this attempt."""
    tokens: int
    """Tokens of every role, likewise."""
    usd: float
    """Money for every role, likewise; calls at an unknown price count as 0."""


class CellResult(Record):
    """What became of one cell."""

    cell: Cell
    status: Status
    reason: str = ""
    """Why it is not done, or why the run stopped."""
    folder: str = ""
    """The run's folder, below the bench's; empty if the run never began."""
    correct: bool = False
    """It ends with a kernel that was right when it was measured anew."""
    attempt: int | None = None
    """Number of that kernel's attempt."""
    language: str = ""
    latency_us: float | None = None
    eager: Ratio | None = None
    """Final figure, measured anew with fresh inputs: the one that is published."""
    compile: Ratio | None = None
    first_right: int | None = None
    """How many attempts it took until one was right in the search; None: none was."""
    steps: tuple[TraceStep, ...] = ()
    asked: int | None = None
    """How many proposal requests the strategy asked for.

    One may ask for several kernels. None: not counted when it was written.
    """
    device_s: float = 0.0
    """Seconds of the search's evaluations, profiles and tools, with those that led to no attempt."""
    tokens: int = 0
    """Tokens of every role, likewise."""
    usd: float = 0.0
    """Money for every role, likewise; calls at an unknown price count as 0."""
    unpriced: bool = False
    """The price of a call is not known: `usd` is what is known of it."""
    models: tuple[str, ...] = ()
    """What spoke in the run, as their endpoints call themselves."""
    drill: bool = False
    """A scripted server wrote them: a test of the machinery, not a model's result."""

    @property
    def counts(self) -> bool:
        """It ended, right or not, by what its arm did."""
        return self.status in ("done", "gave_up")

    @property
    def settled(self) -> bool:
        """It says something of its arm: it is done, or failed."""
        return self.status == "done" or self.status in FAILED


class Failure(Record):
    """Why a cell has no complete run, one line of `failures.jsonl`."""

    cell: Cell
    status: Literal["gave_up", "not_admitted", "no_answer", "broken", "unpaid"]
    reason: str


class Naive(Record):
    """A first kernel that anybody would write, judged as a final."""

    task: str
    key: str
    """Identity of task, kernel and referee: an equal one is not judged again."""
    file: str
    outcome: str
    reason: str = ""
    latency_us: float | None = None
    eager: Ratio | None = None
    compile: Ratio | None = None


class Mean(Record):
    """A figure over tasks, with its 95 % interval."""

    value: float
    low: float | None
    """None: there is no interval, since the tasks are too few, or all alike (`bench.metrics`)."""
    high: float | None
    tasks: int
    """How many tasks it is taken over."""


class FastP(Record):
    """Share of all tasks that have a right kernel which is more than `p` times as fast as a baseline."""

    baseline: Baseline
    p: float
    share: Mean | None
    """None: nothing was timed."""


class AtK(Record):
    """Share of tasks that are solved with k attempts."""

    k: int
    share: Mean
    cells: int | None = None
    """How many cells it is taken over: of pass@k those with at least k attempts, and those without any."""


class Speedup(Record):
    """Geometric mean over tasks of the final speedup over a baseline."""

    baseline: Literal["eager", "compile", "naive"]
    over: Literal["solved", "all"]
    """`solved`: right kernels as they are, losses too; `all`: every task, at least 1.0 each, since a person keeps the
    baseline where the kernel is slower or there is none."""
    mean: Mean | None


class Point(Record):
    """A point of a curve."""

    spent: float
    speedup: float


class Curve(Record):
    """Mean best speedup over eager against what was spent; search figures."""

    axis: Literal["proposals", "device seconds", "tokens"]
    points: tuple[Point, ...]


class CellFigures(Record):
    """The figures of a set of cells."""

    cells: int
    """Those that are settled: done, or failed."""
    missing: int
    """Those that are not: of them nothing is known."""
    tasks: int
    correct: Mean | None
    fast: tuple[FastP, ...]
    pass_at: tuple[AtK, ...]
    """Only of arms whose attempts are independent of each other."""
    solved_at: tuple[AtK, ...]
    speedups: tuple[Speedup, ...]
    first_right: float | None
    """Mean number of attempts until one was right, over the cells where one was."""
    proposals: int
    device_s: float
    tokens: int
    usd: float
    unpriced: bool
    """Some calls' price is not known: `usd` is what is known of it."""
    drill: bool
    models: tuple[str, ...]


class ArmFigures(Record):
    """One row of the comparison."""

    arm: Arm
    figures: CellFigures
    shared: CellFigures
    """The same over the tasks and seeds that are settled in every arm: what arms are compared by."""
    curves: tuple[Curve, ...]


Factor = Literal["strategy", "proposer", "variant", "model", "reward"]


class LevelFigures(Record):
    """All cells that share one level of a factor."""

    factor: Factor
    level: str
    figures: CellFigures


class Claim(Record):
    """A figure that a paper claims; none of ours stands beside it as equal."""

    system: str
    what: str
    speedup: str
    device: str
    baseline: str
    source: str
    matches: tuple[str, ...] = ()
    """Parts of task names that mean the same kernel."""
    ours: tuple[str, ...] = ()
    """Best final speedups over the naive kernel here, in words."""


class BenchEnvironment(Record):
    """Where and with what the cells were run."""

    device: str
    versions: dict[str, str]
    isolation: tuple[str, ...]
    denied: tuple[str, ...]
    commit: str
    """The commit of Kernelwright's checkout; `unknown` where it is installed."""
    disabled: tuple[str, ...] = ()
    """Defences that were switched off; never empty in silence."""


class Comparison(Record):
    """A bench with all that is known of it: the content of `bench.json`."""

    kind: Literal["kernelwright.bench"] = "kernelwright.bench"
    version: Literal[2] = 2
    name: str
    written: str
    """ISO 8601, UTC."""
    complete: bool
    """Every cell ended."""
    labels: tuple[str, ...]
    """What must be said wherever a figure of this is shown."""
    plan: BenchPlan
    environment: BenchEnvironment | None
    """None: no cell was begun."""
    arms: tuple[ArmFigures, ...]
    factors: tuple[LevelFigures, ...]
    naive: tuple[Naive, ...]
    claims: tuple[Claim, ...]
    cells: tuple[CellResult, ...]
