"""Makes the comparison out of a plan, its cells and its naive kernels: rows, tables by factor, labels of figures."""

import bisect
import math
import subprocess
import tomllib
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from functools import cache
from importlib.resources import files
from pathlib import Path
from statistics import fmean
from typing import TYPE_CHECKING

from kernelwright.bench import words
from kernelwright.bench.metrics import figures, speedup
from kernelwright.bench.records import (
    DRILL_LABEL,
    Arm,
    ArmFigures,
    BenchEnvironment,
    BenchPlan,
    CellFigures,
    CellResult,
    Claim,
    Comparison,
    Curve,
    Factor,
    LevelFigures,
    Naive,
    Point,
    TraceStep,
)
from kernelwright.devices import kinds
from kernelwright.engine.config import RunConfig
from kernelwright.records.policy import Policy
from kernelwright.records.run import Environment
from kernelwright.search.table import strategy_of

if TYPE_CHECKING:
    from kernelwright.records.measure import Ratio

_FACTORS: tuple[Factor, ...] = ("strategy", "proposer", "variant", "model", "reward")
USUAL = "the usual one"
"""What the variant without a name is called."""
NOBODY = "none"
"""What the model is called of arms that ask none."""


def summarize_bench(
    name: str,
    plan: BenchPlan,
    cells: Sequence[CellResult],
    beside: tuple[Sequence[Naive], Sequence[Naive]] = ((), ()),
    environment: Environment | None = None,
) -> Comparison:
    """The whole comparison; `beside` has the naive kernels and the oracles."""
    naive, oracles = beside
    first, best = _speedups(naive), _speedups(oracles)
    own = RunConfig.model_validate(plan.config)
    return Comparison(
        name=name,
        written=datetime.now(UTC).isoformat(timespec="seconds"),
        complete=all(cell.counts for cell in cells),
        labels=_labels(plan, cells, oracles),
        plan=plan,
        environment=_environment(environment, own.policy) if environment else None,
        arms=_arms(plan, cells, first, best),
        factors=tuple(_levels(plan, cells, first)),
        naive=tuple(naive),
        oracles=tuple(oracles),
        claims=tuple(_add_own_ratios(claim, cells, first) for claim in claims()),
        cells=tuple(cells),
    )


def _speedups(kernels: Sequence[Naive]) -> dict[str, float]:
    """Over eager, by task, of those that were timed."""
    return {one.task: one.eager.median for one in kernels if one.eager and not one.eager.blurred}


def best_arm(comparison: Comparison) -> ArmFigures | None:
    """The arm with the largest geometric mean over eager, over all tasks, and of equal ones the one that is right more often.

    Over the tasks and seeds that every arm has settled, where there are any. None where nothing was timed.
    """

    def rank(row: ArmFigures) -> tuple[float, float]:
        found = compared(row)
        mean = words.speedup(found, "eager", "all")
        return mean.value if mean else 0.0, found.correct.value if found.correct else 0.0

    timed = [row for row in comparison.arms if row.curves and rank(row)[0]]
    return max(timed, key=rank, default=None)


def compared(row: ArmFigures) -> CellFigures:
    """The figures by which an arm is held against the others."""
    return row.shared if row.shared.cells else row.figures


@cache
def claims() -> tuple[Claim, ...]:
    """What papers claim, from `claims.toml`."""
    listed = tomllib.loads((files("kernelwright.bench") / "claims.toml").read_text("utf-8"))
    return tuple(Claim.model_validate(claim) for claim in listed["claim"])


def commit() -> str:
    """The commit of Kernelwright's own checkout; `unknown` where its source is not under version control."""
    here = Path(__file__).parent
    tracked = _git(here, "ls-files", "--error-unmatch", Path(__file__).name)
    return (tracked and _git(here, "rev-parse", "--short=12", "HEAD")) or "unknown"


def _git(folder: Path, *words: str) -> str:
    try:
        done = subprocess.run(["git", "-C", str(folder), *words], capture_output=True, text=True, check=False)
    except OSError:
        return ""
    return done.stdout.strip() if done.returncode == 0 else ""


def _arms(
    plan: BenchPlan, cells: Sequence[CellResult], naive: Mapping[str, float], oracles: Mapping[str, float]
) -> tuple[ArmFigures, ...]:
    open_somewhere = {(c.cell.task, c.cell.seed) for c in cells if not c.settled}
    rows: list[ArmFigures] = []
    for arm in plan.arms:
        own = [c for c in cells if c.cell.arm == arm]
        shared = [c for c in own if (c.cell.task, c.cell.seed) not in open_somewhere]
        independent = strategy_of(arm.strategy).independent
        rows.append(
            ArmFigures(
                arm=arm,
                figures=figures(own, naive, oracles, independent=independent),
                shared=figures(shared, naive, oracles, independent=independent),
                curves=curves(own),
            )
        )
    return tuple(rows)


def _levels(plan: BenchPlan, cells: Sequence[CellResult], naive: Mapping[str, float]) -> list[LevelFigures]:
    """Factors with more than one level, level by level."""
    found: list[LevelFigures] = []
    for factor in _FACTORS if words.several_rewards(plan.arms) else _FACTORS[:-1]:
        levels = list(dict.fromkeys(_level(arm, factor) for arm in plan.arms))
        if len(levels) > 1:
            found += [LevelFigures(factor=factor, level=level, figures=_pooled(factor, level, cells, naive))
                      for level in levels]  # fmt: skip
    return found


def _pooled(factor: Factor, level: str, cells: Sequence[CellResult], naive: Mapping[str, float]) -> CellFigures:
    return figures([c for c in cells if _level(c.cell.arm, factor) == level], naive, independent=False)


def _level(arm: Arm, factor: Factor) -> str:
    unnamed = {"variant": USUAL, "model": NOBODY}
    return str(getattr(arm, factor)) or unnamed[factor]


def _labels(plan: BenchPlan, cells: Sequence[CellResult], oracles: Sequence[Naive]) -> tuple[str, ...]:
    ended = sum(cell.counts for cell in cells)
    found = [DRILL_LABEL] if any(cell.drill for cell in cells) else []
    if ended < len(cells):
        found.append(f"{ended} of {len(cells)} cells ended")
    if plan.sampled:
        found.append(f"a sample of {plan.sampled.taken} of {plan.sampled.of} tasks")
    if plan.left_out:
        found.append(f"{_many(len(plan.left_out), 'task')} left out")
    if plan.doubtful:
        found.append(f"on a list of doubtful problems: {_many(len(plan.doubtful), 'task')}")
    found += _failed(cells) + _underspent(plan, cells)
    if not plan.target.present:
        found.append(f"{plan.target.arch} is not here: nothing was timed, and there is no Perf")
    elif untimed := len(oracles) - len(_speedups(oracles)):
        found.append(f"without a time, and so in no Perf: {_many(untimed, 'oracle')}")
    return tuple(found)


def _failed(cells: Sequence[CellResult]) -> list[str]:
    tasks = len({cell.cell.task for cell in cells if cell.status == "not_admitted"})
    silent = sum(cell.status == "no_answer" for cell in cells)
    labels = [f"not admitted, and so not solved: {_many(tasks, 'task')}"] if tasks else []
    return labels + ([f"without an answer, and so not solved: {_many(silent, 'cell')}"] if silent else [])


def _many(number: int, what: str) -> str:
    return f"1 {what}" if number == 1 else f"{number} {what}s"


def _underspent(plan: BenchPlan, cells: Sequence[CellResult]) -> list[str]:
    """Arms that never used the proposals they had: the budget was the same, what was spent of it was not."""
    labels: list[str] = []
    for arm in plan.arms:
        config = plan.config_of(arm, plan.seeds[0])
        made = [len(cell.steps) for cell in cells if cell.cell.arm == arm and cell.status == "done"]
        if made and max(made) < config.budget.proposals:
            labels.append(f"{words.arm_name(arm, plan.arms)} spent {max(made)} of {config.budget.proposals} proposals")
    return labels


def _environment(environment: Environment, policy: Policy) -> BenchEnvironment:
    device = environment.device
    return BenchEnvironment(
        device=device.name if kinds()[device.kind].gpu else f"{device.name}, {device.cores} cores",
        versions=environment.versions,
        isolation=environment.isolation,
        denied=environment.denied,
        commit=commit(),
        disabled=tuple(sorted(policy.disabled)),
    )


def _add_own_ratios(claim: Claim, cells: Sequence[CellResult], naive: Mapping[str, float]) -> Claim:
    """The claim with our own largest ratio for tasks that mean the same kernel."""
    ratios: dict[str, float] = {}
    for cell in cells:
        over = speedup(cell, "naive", naive)
        if over is not None and any(part in cell.cell.task for part in claim.matches):
            ratios[cell.cell.task] = max(over, ratios.get(cell.cell.task, 0.0))
    return claim.model_copy(update={"ours": tuple(f"{task} {ratio:.2f}x" for task, ratio in sorted(ratios.items()))})


POINTS = 48
"""Most points of a curve over a continuous axis."""

Stairs = tuple[list[float], list[float]]
"""What had been spent at each step, and the logarithm of the best speedup from there."""


def curves(cells: Sequence[CellResult]) -> tuple[Curve, ...]:
    """One curve for each thing that can be spent; none where nothing was timed."""
    ended = [cell for cell in cells if cell.settled]
    if not any(step.eager for cell in ended for step in cell.steps):
        return ()
    longest = max(len(cell.steps) for cell in ended)
    made = [Curve(axis="proposals", points=_mean(ended, lambda n, step: n + 1.0, [*map(float, range(longest + 1))]))]
    last_s = max(cell.device_s for cell in ended)
    if last_s:
        made.append(Curve(axis="device seconds", points=_mean(ended, lambda n, step: step.device_s, _grid(last_s))))
    last_tokens = max(cell.tokens for cell in ended)
    if last_tokens:
        made.append(Curve(axis="tokens", points=_mean(ended, lambda n, step: float(step.tokens), _grid(last_tokens))))
    return tuple(made)


def stairs(cell: CellResult, spent: Callable[[int, TraceStep], float]) -> Stairs:
    """The staircase of one cell, beginning with eager itself."""
    where, heights = [0.0], [0.0]
    best: Ratio | None = None
    for number, step in enumerate(cell.steps):
        found = step.eager
        if (
            found is not None
            and not found.blurred
            and (best is None or (found.low > best.low and found.median > best.median))
        ):
            best = found
            where.append(spent(number, step))
            heights.append(max(0.0, math.log(found.median)))
    return where, heights


def _mean(
    cells: Sequence[CellResult], spent: Callable[[int, TraceStep], float], grid: Sequence[float]
) -> tuple[Point, ...]:
    tasks: dict[str, list[Stairs]] = {}
    for cell in cells:
        tasks.setdefault(cell.cell.task, []).append(stairs(cell, spent))
    return tuple(Point(spent=x, speedup=math.exp(fmean([fmean([_at(s, x) for s in g]) for g in tasks.values()])))
                 for x in grid)  # fmt: skip


def _at(found: Stairs, x: float) -> float:
    return found[1][bisect.bisect_right(found[0], x) - 1]


def _grid(last: float) -> list[float]:
    return [last * i / POINTS for i in range(POINTS + 1)]
