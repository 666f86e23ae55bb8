"""A training run from recipe to folder: data, environment, engine, report. It goes on where it was, however it ended.

The engine is imported here, when a recipe runs, and nowhere else.
"""

import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from functools import partial
from importlib import import_module
from itertools import islice
from math import inf
from pathlib import Path
from typing import Any, NamedTuple

from markupsafe import Markup

from kernelwright.devices import kinds
from kernelwright.engine.cached_evaluator import KnownVerdicts
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
from kernelwright.report.charts import svg
from kernelwright.report.charts.svg import HALF, Scale
from kernelwright.report.html import page
from kernelwright.store.files import Lines, latest_lines, open_lines, write_whole
from kernelwright.train.admission import Admitting, assignments_of
from kernelwright.train.data.prompts import Piece, judge_rows, pieces, rows
from kernelwright.train.data.sample import Sample, read_samples
from kernelwright.train.environment import Assignment, Environment, Settings
from kernelwright.train.figures import thinned
from kernelwright.train.judges import TRAINING, Judges, Loop
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

REPORT = "report.html"
ROOM = 40
"""Tasks that all workers keep open on a device: each holds a reference with 650 MB of it, and beside 84, and 56 of 14 workers,
the trainer found no room on an 80 GB card."""
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
    last: Progress | None
    """Its latest step."""


def train(recipe: Recipe, folder: Path, suppliers: Suppliers, heard: Heard) -> Trained:
    """Train as the recipe says, into the folder, or go on with what is there.

    Raises:
        UsageError: a package, the model or the data is missing.
        StoreError: the folder holds another recipe's run, or cannot be written.
    """
    engine = _engine("grpo" if isinstance(recipe, Grpo) else "sft")
    split = recipe.split if isinstance(recipe, Grpo) else "train"
    samples = [one for one in read_samples(Path(recipe.data)) if split in ("all", one.split)]
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
                each = recipe.workers_of_task or workers_each(recipe, len(samples))
                judges = open_judges(suppliers, recipe.policy, recipe.workers, recipe.gpus, each, recipe.cached)
                try:
                    environment = prepared(recipe, samples, judges)
                    engine.train_grpo(recipe, environment, folder, keep, heard, loop)
                finally:
                    loop.run(judges.close())
        else:
            engine.train_sft(recipe, _rows(recipe, samples), folder, keep, heard)
    report = write_report(folder) if first else folder / REPORT
    return Trained(folder, folder / MODEL, report, next(latest_steps(folder), None))


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
    assignments = assignments_of(begun, target, recipe.role, recipe.forms)
    settings = Settings(
        role=recipe.role,
        reward=recipe.reward,
        turns=recipe.turns,
        effort=recipe.effort,
        variant=recipe.variant,
        filters=recipe.filters,
    )
    return Environment(assignments, Admitting(judges, target, len(assignments)), settings)


def workers_each(recipe: Grpo, tasks: int) -> int:
    """How many workers a task is dealt out to, if all of them find room: one that was closed must be opened again.

    A worker interprets one kernel after another, and has nothing of the device.
    """
    groups = max(1, recipe.groups // int(os.environ.get("WORLD_SIZE", "1")))
    room = recipe.workers // groups if recipe.interpreted else ROOM // tasks
    return max(1, min(room, recipe.workers))


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

    known = KnownVerdicts(suppliers.training_cache, TRAINING, warned) if cached else None
    return Judges(opened, workers, of_task, policy, known)


def open_environment(data: Path, settings: Settings, workers: int = 1) -> Environment:
    """The environment of a data set's tasks, over workers of this host: for other frameworks.

    Raises:
        UsageError: the data set holds none; or as `Environment`.
    """
    tasks = [Assignment(task=one.task, split=one.split) for one in read_samples(data)]
    if not tasks:
        raise UsageError(f"{data} holds no samples: make some with `kernelwright train data`")
    return Environment(tasks, open_judges(Suppliers(), Policy(), workers), settings)


def steps(folder: Path) -> tuple[Progress, ...]:
    """Every step of a run in order."""
    return tuple(latest_steps(folder))[::-1]


def latest_steps(folder: Path) -> Iterator[Progress]:
    """The same from the last to the first. What a run made before it went on from an earlier step is left out."""
    made = inf
    for one in latest_lines(Progress, folder / PROGRESS):
        if one.step < made and one.figures.keys() & WHOLE:
            made = one.step
            yield one


def write_report(folder: Path) -> Path:
    """The run's page, also while it is running; of a long one its points are means of so many steps."""
    rollouts = list(islice(latest_lines(Rollout, folder / ROLLOUTS), MOST_ROLLOUTS))[::-1]
    recipe = (folder / "recipe.json").read_text(encoding="utf-8")
    progress, last = thinned(latest_steps(folder))[::-1], next(latest_steps(folder), None)
    return write_whole(folder / REPORT, render(folder.name, recipe, progress, rollouts, last), follow=False)


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


def _rows(recipe: Sft | Judge, samples: Sequence[Sample]) -> list[Piece]:
    if isinstance(recipe, Judge):
        return [partial(judge_rows, samples, recipe.least_gain, recipe.variant)]
    made = partial(rows, role=recipe.role, variant=recipe.variant, forms=recipe.forms, copies=recipe.copies)
    return pieces(samples, made)


def _engine(name: str) -> Any:  # noqa: ANN401  a module that needs an extra
    keep_local()
    try:
        return import_module(f"kernelwright.train.engine.{name}")
    except ModuleNotFoundError as error:
        raise UsageError(
            f"training needs the package {error.name}: pip install 'kernelwright[train]' -c constraints.txt"
        ) from None


LEFT, RIGHT, TOP, PLOT, BOTTOM = 54, 16, 12, 180, 40
CURVES = (
    "reward", "right", "speedup", "hacks", "timed out", "parsed", "length", "cut off", "KL", "entropy", "flat groups",
    "waiting", "loss", "token accuracy", "gradient norm",
)  # fmt: skip
"""What is drawn, in this order, where a run has it."""
SHARES = frozenset({"right", "hacks", "timed out", "parsed", "cut off", "flat groups", "waiting", "token accuracy"})
MOST_ROLLOUTS = 60
RULES = (
    ".curves { display: grid; grid-template-columns: repeat(auto-fit, minmax(300px, 1fr)); gap: 12px; } "
    ".chart .line { stroke: var(--measured); stroke-width: 1.75; fill: none; } .chart .mark { fill: var(--measured); } "
    "details.card summary { cursor: pointer; } details.card pre, #recipe pre { overflow-x: auto; white-space: pre; }"
)
TEXT_LIMIT = 12_000


class Curve(NamedTuple):
    """One figure over the steps."""

    name: str
    last: float
    chart: Markup


def render(
    name: str, recipe: str, progress: Sequence[Progress], rollouts: Sequence[Rollout], last: Progress | None = None
) -> str:
    """The whole page; also of a run that goes on. `last` is the latest step, where `progress` is thinned out."""
    shown = sorted(rollouts[-MOST_ROLLOUTS:], key=lambda one: (-one.step, one.task))
    return page(
        "training.html.j2",
        RULES,
        name=name,
        recipe=recipe,
        last=last or (progress[-1] if progress else None),
        curves=[_curve(figure, progress) for figure in CURVES if any(figure in one.figures for one in progress)],
        rollouts=[one.model_copy(update={"reply": one.reply[:TEXT_LIMIT]}) for one in shown],
    )


def _curve(name: str, progress: Sequence[Progress]) -> Curve:
    points = [(one.step, one.figures[name]) for one in progress if name in one.figures]
    return Curve(name, points[-1][1], curve_chart(name, points))


def curve_chart(name: str, points: Sequence[tuple[int, float]], width: int = HALF) -> Markup:
    """One figure over the steps as a line, with a dot where there is only one."""
    bottom = TOP + PLOT
    values = [value for _, value in points]
    low, high = (0.0, 1.0) if name in SHARES else (min(0.0, *values), max(values))
    y = Scale(low, high if high > low else low + 1.0, bottom, TOP)
    first, last = points[0][0], points[-1][0]
    x = Scale(first, last if last > first else first + 1, LEFT, width - RIGHT)
    parts = [part for tick in y.ticks(5) for part in (
        svg.rule(LEFT, y(tick), width - RIGHT, y(tick)), svg.text(LEFT - 6, y(tick) + 4, f"{tick:g}", anchor="end"))
    ]  # fmt: skip
    parts += [svg.text(x(t), bottom + 17, f"{t:,g}", anchor="middle") for t in x.ticks(5) if t == int(t)]
    path = " ".join(f"{x(step):.1f},{y(value):.1f}" for step, value in points)
    parts.append(svg.element("polyline", points=path, class_="line"))
    parts += [
        svg.dot(x(step), y(value), 2.0, "mark", f"step {step}: {value:.4g}")
        for step, value in points[:: len(points) // 60 + 1]
    ]
    parts.append(svg.text(width - RIGHT, bottom + 34, "step", anchor="end"))
    return svg.frame(width, bottom + BOTTOM, f"{name} over {len(points)} steps, last {values[-1]:.3g}", parts)
