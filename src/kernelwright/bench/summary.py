"""Makes the comparison out of a plan, its cells and its naive kernels.

Decides what is a row, which factors have a table of their own, and the labels that every figure must carry.
"""

import subprocess
import tomllib
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Literal

from kernelwright.bench.curves import curves
from kernelwright.bench.metrics import INDEPENDENT, figures, speedup
from kernelwright.bench.plan import Arm, Plan
from kernelwright.bench.records import (
    DRILL,
    ArmFigures,
    CellResult,
    Circumstances,
    Claim,
    Comparison,
    Figures,
    LevelFigures,
    Naive,
)
from kernelwright.engine.config import RunConfig
from kernelwright.records.policy import Policy
from kernelwright.records.run import Environment

Factor = Literal["strategy", "proposer", "variant", "reward"]
_FACTORS: tuple[Factor, ...] = ("strategy", "proposer", "variant", "reward")
USUAL = "the usual one"
"""What the variant without a name is called."""


def summarize_bench(
    name: str,
    plan: Plan,
    cells: Sequence[CellResult],
    naive: Sequence[Naive] = (),
    environment: Environment | None = None,
) -> Comparison:
    """The whole comparison."""
    first = {one.task: one.eager.median for one in naive if one.eager}
    own = RunConfig.model_validate(plan.config)
    return Comparison(
        name=name,
        written=datetime.now(UTC).isoformat(timespec="seconds"),
        complete=all(cell.counts for cell in cells),
        labels=_labels(plan, cells),
        plan=plan,
        circumstances=_circumstances(environment, own.policy) if environment else None,
        arms=tuple(_arm(arm, [c for c in cells if c.cell.arm == arm], first) for arm in plan.arms),
        factors=tuple(_levels(plan, cells, first)),
        naive=tuple(naive),
        claims=tuple(_beside(claim, cells, first) for claim in claims()),
        cells=tuple(cells),
    )


def best_arm(comparison: Comparison) -> ArmFigures | None:
    """The arm with the largest geometric mean over eager, over all tasks; None where nothing was timed."""

    def mean(row: ArmFigures) -> float:
        return next(
            (s.mean.value for s in row.figures.speedups if (s.baseline, s.over) == ("eager", "all") and s.mean), 0
        )

    timed = [row for row in comparison.arms if row.figures.cells and row.curves and mean(row)]
    return max(timed, key=mean, default=None)


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


def _arm(arm: Arm, cells: Sequence[CellResult], naive: Mapping[str, float]) -> ArmFigures:
    independent = arm.strategy in INDEPENDENT
    return ArmFigures(arm=arm, figures=figures(cells, naive, independent=independent), curves=curves(cells))


def _levels(plan: Plan, cells: Sequence[CellResult], naive: Mapping[str, float]) -> list[LevelFigures]:
    """Factors with more than one level, level by level."""
    found: list[LevelFigures] = []
    for factor in _FACTORS:
        levels = list(dict.fromkeys(_level(arm, factor) for arm in plan.arms))
        if len(levels) > 1:
            found += [LevelFigures(factor=factor, level=level, figures=_pooled(factor, level, cells, naive))
                      for level in levels]  # fmt: skip
    return found


def _pooled(factor: Factor, level: str, cells: Sequence[CellResult], naive: Mapping[str, float]) -> Figures:
    return figures([c for c in cells if _level(c.cell.arm, factor) == level], naive, independent=False)


def _level(arm: Arm, factor: Factor) -> str:
    return arm.variant or USUAL if factor == "variant" else str(getattr(arm, factor))


def _labels(plan: Plan, cells: Sequence[CellResult]) -> tuple[str, ...]:
    ended = sum(cell.counts for cell in cells)
    found = [DRILL] if any(cell.drill for cell in cells) else []
    if ended < len(cells):
        found.append(f"{ended} of {len(cells)} cells ended")
    if plan.sampled:
        found.append(f"a sample of {plan.sampled.taken} of {plan.sampled.of} tasks")
    if plan.left_out:
        found.append(f"{len(plan.left_out)} tasks left out")
    if not plan.target.present:
        found.append(f"{plan.target.arch} is not here: nothing was timed")
    return tuple(found)


def _circumstances(environment: Environment, policy: Policy) -> Circumstances:
    device = environment.device
    return Circumstances(
        device=device.name if device.kind == "cuda" else f"{device.name}, {device.cores} cores",
        versions=environment.versions,
        isolation=environment.isolation,
        denied=environment.denied,
        commit=commit(),
        disabled=tuple(sorted(policy.disabled)),
    )


def _beside(claim: Claim, cells: Sequence[CellResult], naive: Mapping[str, float]) -> Claim:
    """The claim with our own largest ratio for tasks that mean the same kernel."""
    ratios: dict[str, float] = {}
    for cell in cells:
        over = speedup(cell, "naive", naive)
        if over is not None and any(part in cell.cell.task for part in claim.matches):
            ratios[cell.cell.task] = max(over, ratios.get(cell.cell.task, 0.0))
    return claim.model_copy(update={"ours": tuple(f"{task} {ratio:.2f}x" for task, ratio in sorted(ratios.items()))})
