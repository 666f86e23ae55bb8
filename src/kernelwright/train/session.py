"""A training run from recipe to folder: data, environment, engine, report. It goes on where it was, however it ended.

The engine is imported here, when a recipe runs, and nowhere else.
"""

import os
from collections.abc import Callable, Iterable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any

from kernelwright.devices import kinds
from kernelwright.engine.events import Warned
from kernelwright.engine.suppliers import Suppliers
from kernelwright.engine.target import resolve_target
from kernelwright.errors import UsageError
from kernelwright.evaluate.evaluator import Evaluator
from kernelwright.execution.executor import Place
from kernelwright.models.table import keep_local
from kernelwright.records.base import Record
from kernelwright.records.policy import Policy
from kernelwright.records.task import Target
from kernelwright.store.files import Lines, open_lines, read_lines, write_whole
from kernelwright.train.admission import Admitting, shown
from kernelwright.train.data.judging import judge_rows
from kernelwright.train.data.prompts import Row, rows
from kernelwright.train.data.sample import Sample, read_samples
from kernelwright.train.environment import Environment, Settings
from kernelwright.train.judges import Judges
from kernelwright.train.loop import Loop
from kernelwright.train.page import render
from kernelwright.train.recipe import (
    MODEL,
    PROGRESS,
    ROLLOUTS,
    Grpo,
    Judge,
    Progress,
    Recipe,
    Rollout,
    Sft,
    keep_recipe,
)
from kernelwright.train.remembered import Remembered

REPORT = "report.html"
WHOLE = frozenset({"loss", "reward"})
"""Figures that a step's own line has, and a trainer's summary in the end has not."""
Heard = Callable[[Progress], None]


@dataclass(frozen=True)
class Trained:
    """What a training run left behind."""

    folder: Path
    model: Path
    """What `--model hf:` takes."""
    report: Path
    progress: tuple[Progress, ...]


def train(recipe: Recipe, folder: Path, suppliers: Suppliers, heard: Heard) -> Trained:
    """Train as the recipe says, into the folder, or go on with what is there.

    Raises:
        UsageError: a package, the model or the data is missing.
        StoreError: the folder holds another recipe's run, or cannot be written.
    """
    engine = _engine("grpo" if isinstance(recipe, Grpo) else "sft")
    split = recipe.split if isinstance(recipe, Grpo) else "train"
    samples = [one for one in read_samples(Path(recipe.data)) if one.split == split]
    if not samples:
        raise UsageError(
            f"{recipe.data!r} holds no samples of the split {split!r}: make some with `kernelwright train data`"
        )
    first = is_first()
    if first:
        keep_recipe(folder, recipe)
    with ExitStack() as stack:
        keep = _keeper(folder, stack) if first else _nothing
        if isinstance(recipe, Grpo):
            with Loop() as loop:
                judges = open_judges(
                    suppliers, recipe.policy, recipe.workers, recipe.gpus, recipe.workers_of_task, recipe.cached
                )
                try:
                    environment = prepared(recipe, samples, judges)
                    engine.train_grpo(recipe, environment, folder, keep, heard, loop)
                finally:
                    loop.run(judges.close())
        else:
            engine.train_sft(recipe, _rows(recipe, samples), folder, keep, heard)
    report = write_report(folder) if first else folder / REPORT
    return Trained(folder, folder / MODEL, report, steps(folder))


def is_first() -> bool:
    """Whether this is the process that writes: one of several that a launcher started is, and any that nobody did."""
    return os.environ.get("RANK", "0") == "0"


def prepared(recipe: Grpo, samples: Sequence[Sample], judges: Judges) -> Environment:
    """The environment of a recipe: each task once, admitted for the recipe's target when its first kernel is judged.

    Raises:
        UsageError: no task is left; or as `Environment`.
    """
    target = judged_for(recipe)
    usable = [one for one in samples if recipe.depth is None or one.depth <= recipe.depth]
    begun = [one for one in usable if recipe.role != "midend" or one.parent is not None]
    if not begun:
        raise UsageError(f"{recipe.data!r} holds no task for the role {recipe.role!r}")
    assignments = shown(begun, target, recipe.role, recipe.forms)
    settings = Settings(
        role=recipe.role,
        reward=recipe.reward,
        turns=recipe.turns,
        effort=recipe.effort,
        variant=recipe.variant,
        filters=recipe.filters,
    )
    return Environment(assignments, Admitting(judges, target, len(assignments)), settings)


def judged_for(recipe: Grpo) -> Target:
    """The target that kernels of a recipe are judged for.

    Raises:
        UsageError: interpreted kernels take no time, and the recipe pays for it.
    """
    target = resolve_target(recipe.target)
    if not recipe.interpreted:
        return target
    if recipe.effort != "verify" or not kinds()[target.kind].gpu:
        raise UsageError("interpreted kernels are a GPU's, and untimed: set effort to verify, and target to a GPU")
    return target.model_copy(update={"present": False})


def open_judges(
    suppliers: Suppliers, policy: Policy, workers: int, gpus: Sequence[str] = (), of_task: int = 1, cached: bool = False
) -> Judges:
    """Judges with evaluators of the suppliers, on these GPUs in turn; of several trainers each begins with another one.

    `cached`: the trainers' cache is asked first, and keeps what is found.
    """
    first = int(os.environ.get("RANK", "0"))

    def opened(worker: int) -> Evaluator:
        return suppliers.open_evaluator(policy, Place(gpus=gpus[(first + worker) % len(gpus)] if gpus else ""))

    def warned(text: str) -> None:
        suppliers.listener(Warned(text=text))

    known = Remembered(suppliers.training_cache, policy, warned) if cached else None
    return Judges(opened, workers, of_task, known)


def steps(folder: Path) -> tuple[Progress, ...]:
    """Every step of a run in order; of a step that was made twice, the later."""
    merged = {one.step: one for one in read_lines(Progress, folder / PROGRESS) if one.figures.keys() & WHOLE}
    return tuple(merged[number] for number in sorted(merged))


def write_report(folder: Path) -> Path:
    """The run's page, also while it is running."""
    rollouts = read_lines(Rollout, folder / ROLLOUTS)
    recipe = (folder / "recipe.json").read_text(encoding="utf-8")
    return write_whole(folder / REPORT, render(folder.name, recipe, steps(folder), rollouts))


def _keeper(folder: Path, stack: ExitStack) -> "_Keeper":
    return _Keeper(
        stack.enter_context(open_lines(Progress, folder / PROGRESS)),
        stack.enter_context(open_lines(Rollout, folder / ROLLOUTS)),
    )


def _nothing(record: Record) -> None:
    """What the other processes keep."""


class _Keeper:
    """Puts each record into its file."""

    def __init__(self, progress: Lines[Progress], rollouts: Lines[Rollout]) -> None:
        self._progress, self._rollouts = progress, rollouts

    def __call__(self, record: Record) -> None:
        if isinstance(record, Progress):
            self._progress.append(record)
        elif isinstance(record, Rollout):
            self._rollouts.append(record)


def _rows(recipe: Sft | Judge, samples: Iterable[Sample]) -> Iterable[Row]:
    if isinstance(recipe, Judge):
        return judge_rows(samples, recipe.least_gain, recipe.variant)
    return rows(samples, recipe.role, recipe.variant, recipe.forms)


def _engine(name: str) -> Any:  # noqa: ANN401  a module that needs an extra
    keep_local()
    try:
        return import_module(f"kernelwright.train.engine.{name}")
    except ModuleNotFoundError as error:
        raise UsageError(
            f"training needs the package {error.name}: pip install 'kernelwright[train]' -c constraints.txt"
        ) from None
