"""What a bench consists of, and what it finds: the plan, cells, arms, curves, and the whole comparison of `bench.json`.

The plan is written once into the bench's folder and compared with the flags when it continues. Cells run seed by seed, so
that a bench which is stopped early has treated all arms alike.
"""

import re
from typing import Literal, NamedTuple

from pydantic import Field, JsonValue

from kernelwright.engine.config import RunConfig
from kernelwright.models.config import ModelConfig
from kernelwright.records.base import Record
from kernelwright.records.measure import Ratio
from kernelwright.records.task import Target
from kernelwright.search.table import spelled


class Arm(Record):
    """What is compared: one combination of the factors."""

    strategy: str
    proposer: str
    reward: str
    model: str = ""
    """Label of the router that is asked; empty: models are not compared, or none is asked."""

    @property
    def name(self) -> str:
        """As a folder is called."""
        parts = (self.strategy, self.proposer, self.reward, *([self.model] if self.model else []))
        return "-".join(re.sub(r"[^\w.-]", ".", part) for part in parts)

    @property
    def variant(self) -> str:
        """The variant of the prompts, of `llm:terse` the `terse`; empty: the usual one, or no prompts."""
        return self.proposer.partition(":")[2]


class Cell(Record):
    """One run of the bench."""

    task: str
    arm: Arm
    seed: int

    @property
    def name(self) -> str:
        """Path of the run's folder below the bench's `cells`."""
        return f"{self.task}/{self.arm.name}-s{self.seed}"


class PlannedTask(Record):
    """A task, by name and content."""

    name: str
    file: str
    """Where it was found; it may lie elsewhere when the bench goes on."""
    source: str
    """Identity of its text, precision and declarations included."""


class LeftOut(Record):
    """A task that is not run, and why."""

    name: str
    reason: str


class Sampled(Record):
    """How many of the fit tasks are run."""

    taken: int
    of: int


class BenchPlan(Record):
    """Everything that decides the cells and what each may spend."""

    tasks: tuple[PlannedTask, ...]
    arms: tuple[Arm, ...]
    seeds: tuple[int, ...]
    target: Target
    config: dict[str, JsonValue]
    """The configuration of every cell, but for proposer, reward and seed; the strategy's options hold where it is run."""
    suite: str
    """In words: which tasks these are."""
    precision: str
    """`as written`, or the one that the tasks were cast to."""
    models: dict[str, dict[str, ModelConfig]] = Field(default_factory=dict)
    """What each router has of its own, by its label; the common models stand in `config`."""
    left_out: tuple[LeftOut, ...] = ()
    doubtful: tuple[LeftOut, ...] = ()
    """Tasks that are run although somebody's list leaves them out, and why it does."""
    sampled: Sampled | None = None
    """None: all of them."""

    def cells(self) -> tuple[Cell, ...]:
        """Every cell in the order of running."""
        return tuple(
            Cell(task=task.name, arm=arm, seed=seed) for seed in self.seeds for task in self.tasks for arm in self.arms
        )

    def config_of(self, arm: Arm, seed: int) -> RunConfig:
        """The configuration of a cell."""
        config = RunConfig.model_validate(self.config)
        options, strategy = self.config["strategy"], spelled(arm.strategy)
        if isinstance(options, dict) and options.get("name") == strategy["name"]:
            strategy = {**options, **strategy}
        models = {**config.models, **self.models.get(arm.model, {})}
        own = {"seed": seed, "strategy": strategy, "models": models, "proposer": arm.proposer, "reward": arm.reward}
        return RunConfig.model_validate({**self.config, **own})


class Difference(NamedTuple):
    """A field of two plans that is not the same, in words."""

    field: str
    then: str
    now: str


_BY_CONTENT = ("arms", "seeds", "target", "config", "models", "precision")


def differences(then: BenchPlan, now: BenchPlan) -> list[Difference]:
    """What must be equal for a bench to go on, and is not."""
    found = [Difference("tasks", *_named(then, now))] if _tasks(then) != _tasks(now) else []
    before, after = then.model_dump(mode="json"), now.model_dump(mode="json")
    for field in _BY_CONTENT:
        old, new = dotted(field, before[field]), dotted(field, after[field])
        found += [
            Difference(key, old.get(key, "absent"), new.get(key, "absent"))
            for key in sorted(old.keys() | new.keys())
            if old.get(key) != new.get(key)
        ]
    return found


def _tasks(plan: BenchPlan) -> dict[str, str]:
    return {task.name: task.source for task in plan.tasks}


def _named(then: BenchPlan, now: BenchPlan) -> tuple[str, str]:
    """Only what differs: names with the beginning of their texts' identities."""
    before, after = _tasks(then), _tasks(now)
    return _only(before, after), _only(after, before)


def _only(mine: dict[str, str], others: dict[str, str]) -> str:
    own = [f"{name} ({source[:6]})" for name, source in sorted(mine.items()) if others.get(name) != source]
    return ", ".join(own[:6]) + (f" and {len(own) - 6} more" if len(own) > 6 else "") if own else "none of these"


def dotted(name: str, value: JsonValue) -> dict[str, str]:
    """A tree as dotted keys."""
    if isinstance(value, dict):
        return {
            key: text
            for part, inner in value.items()
            for key, text in dotted(f"{name}.{part}" if name else part, inner).items()
        }
    if isinstance(value, list):
        return {name: ", ".join(_brief(item) for item in value)}
    return {name: str(value)}


def _brief(item: JsonValue) -> str:
    return "-".join(str(part) for part in item.values() if part != "") if isinstance(item, dict) else str(item)


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
    """A kernel beside the candidates, judged as a final: one that anybody would write first, or an expert's, the oracle."""

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
    """Share of tasks that are solved with k attempts, or their mean Perf."""

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


Spent = Literal["device_s", "tokens", "usd"]


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
    perf: Mean | None = None
    """Perf of the kernels that were measured anew; None: no oracle was timed."""
    perf_at: tuple[AtK, ...] = ()
    """Perf@k by search figures: of the fastest right one of the first k attempts."""
    per_pass: dict[Spent, Mean] = Field(default_factory=dict)
    """What was spent on all tasks, for each that ended right; empty: none did."""
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
    oracles: tuple[Naive, ...] = ()
    """Experts' kernels, judged by the same referee in the same bench: what Perf is relative to."""
    claims: tuple[Claim, ...]
    cells: tuple[CellResult, ...]
