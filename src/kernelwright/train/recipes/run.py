"""Runs a pipeline: each stage in a process of its own, resumed where it was cut, and ended with the call.

A stage that fails twice is left out, and the others go on without it, unless it is asked for by name. FOLDER/figures.json has
what all stages came to, NAME.log what each of them said.
"""

import contextlib
import json
import os
import secrets
import signal
import subprocess
import sys
from collections.abc import Callable, Collection, Iterator
from datetime import UTC, datetime
from functools import partial
from math import inf
from pathlib import Path
from statistics import median
from time import monotonic, sleep

from pydantic import JsonValue

from kernelwright.engine.suppliers import Suppliers
from kernelwright.engine.target import resolve_target
from kernelwright.errors import UsageError
from kernelwright.execution.turns import SHARED
from kernelwright.records.base import Record
from kernelwright.store.files import read_lines, write_whole
from kernelwright.train.figures import columns, waited
from kernelwright.train.judges import Loop, machine
from kernelwright.train.recipe import PROGRESS, RECIPE, RECIPES, Grpo, Progress, Recipe
from kernelwright.train.recipes.plan import PIPELINE, AnyStage, Pipeline, Training, data_of, model_of
from kernelwright.train.recipes.stage import DONE, FIGURES, Figures, read_figures
from kernelwright.train.session import steps

MOST_FAILURES = 2
START_S = 45.0
"""What loading, admitting and saving take beside a training's steps."""
LEAST_S = 30.0
"""Of a training, which is begun with less only to end it."""
GRACE_S = 20.0
"""What a stage may take beyond the call before it is ended."""
STOP_S = 15.0
"""What it then has to end by itself before it is killed."""
GONE_S = 5.0
"""What the kernel may take to end what was killed, and to free its GPU."""
LOOK_S = 0.5
COLD = 2
"""Steps that find caches cold, and tell nothing of how long a step takes."""
MARK = "KERNELWRIGHT_STAGE"
KEPT = ("before", "forms")
"""Measures that may be known of the same model from elsewhere."""
SHOWN = (
    "reward", "right", "groups without a right reply", "flat groups", "entropy", "gradient norm", "parsed", "hacks", "speedup",
    "timed out", "length", "cut off", "waiting", "waited seconds", "step seconds", "unjudged",
)  # fmt: skip
"""Of a training's steps, in its figures."""


class Planned(Record):
    """A stage, and what will become of it."""

    name: str
    kind: str
    state: str
    """`done`, `next`, `waits for …`, `failed`, `not asked for`."""
    needs: float
    """Seconds that must be left for it."""
    took: float | None = None
    """Seconds that it took so far."""


class StageEvent(Record):
    """What a pipeline tells while it runs."""

    stage: str
    place: int
    of: int
    words: str
    over: bool = False
    """Whether it is the last of this stage."""


def plan(folder: Path, pipeline: Pipeline, only: Collection[str] = ()) -> list[Planned]:
    """Every stage in order, and what it waits for.

    Raises:
        UsageError: `only` names a stage that is none.
    """
    for name in only:
        if name not in pipeline.stages:
            raise UsageError(f"no stage {name!r}: there are {', '.join(pipeline.stages)}")
    failures, seconds = _numbers(folder, "failures"), _numbers(folder, "seconds")
    return [
        Planned(
            name=name, kind=stage.kind, needs=stage.needs, took=seconds.get(name),
            state="done" if is_done(folder, name) else "not asked for" if only and name not in only
            else "failed" if not only and failures.get(name, 0.0) >= MOST_FAILURES
            else f"waits for {', '.join(missing)}" if (missing := waits_for(folder, pipeline, stage)) else "next",
        )
        for name, stage in pipeline.stages.items()
    ]  # fmt: skip


def is_done(folder: Path, name: str) -> bool:
    """Whether a stage has ended."""
    found = read_figures(folder / name)
    return bool(found) and found.get(DONE) is not False


def waits_for(folder: Path, pipeline: Pipeline, stage: AnyStage) -> list[str]:
    """Stages that must be done before it. Of alternatives one will do."""
    ways = {tuple(one.partition("/")[0] for one in named.split("|")): named for named in (*stage.after, *stage.inputs)}
    return [
        named for way, named in ways.items() if all(one in pipeline.stages and not is_done(folder, one) for one in way)
    ]


def run_pipeline(
    pipeline: Pipeline, folder: Path, suppliers: Suppliers, heard: Callable[[StageEvent], None],
    only: Collection[str] = (), seconds: float | None = None,
) -> Path:  # fmt: skip
    """Run what is left, as long as there is time; returns the file with all figures.

    Raises:
        UsageError: `only` names a stage that is none.
        MachineError: the device is not there.
    """
    plan(folder, pipeline, only)
    end = inf if seconds is None else monotonic() + seconds
    folder.mkdir(parents=True, exist_ok=True)
    write_whole(folder / PIPELINE, pipeline.model_dump_json(indent=1))
    with Loop() as loop:
        found = loop.run(machine(suppliers, resolve_target(_target(pipeline))))
    _keep(folder, about=pipeline.about, device=found.device.name, versions={**found.versions},
          commit=os.environ.get("KERNELWRIGHT_COMMIT", ""), date=datetime.now(UTC).isoformat(timespec="seconds"))  # fmt: skip
    names = list(pipeline.stages)

    def tell(name: str, words: str, *, over: bool = False) -> None:
        heard(StageEvent(stage=name, place=names.index(name) + 1, of=len(names), words=words, over=over))

    take_known(folder, pipeline, lambda words: tell(names[0], words, over=True))
    for name in names:
        for _ in range(MOST_FAILURES):
            state = next(one.state for one in plan(folder, pipeline, only) if one.name == name)
            left = end - monotonic()
            if state == "next" and left < pipeline.stages[name].needs:
                tell(name, f"needs {pipeline.stages[name].needs:.0f} s, and {max(0.0, left):.0f} are left", over=True)
            if state != "next" or left < pipeline.stages[name].needs:
                break
            status = _run(pipeline.stages[name], folder, name, left, partial(tell, name))
            _keep(folder, stages={one: read_figures(folder / one) for one in names})
            if status == 0:
                tell(name, "done" if is_done(folder, name) else "the same command goes on with it", over=True)
                break
            _count(folder, name)
            tell(name, f"failed: {_last_line(folder / f'{name}.log')} ({folder / f'{name}.log'})", over=True)
    return folder / FIGURES


def _target(pipeline: Pipeline) -> str | None:
    return next((found for one in pipeline.stages.values() if (found := getattr(one, "target", None))), None)


def take_known(folder: Path, pipeline: Pipeline, say: Callable[[str], None]) -> None:
    """What an earlier pipeline measured of the same model before GRPO: in an interpreter, or on the same kind of device."""
    if not pipeline.known:
        return
    known = json.loads(Path(pipeline.known).read_text(encoding="utf-8"))
    for name in KEPT:
        stage, figures = pipeline.stages.get(name), known["stages"].get(name)
        if stage is None or figures is None or is_done(folder, name):
            continue
        interpreted, here = bool(figures.get("interpreted")), _document(folder)["device"]
        if interpreted != getattr(stage, "interpreted", False):
            say(
                f"what is known of {name!r} was measured in another way, on a device or in an interpreter, and is left out"
            )
        elif not interpreted and known["device"] != here:
            say(f"what is known of {name!r} was measured on {known['device']}, and is left out: this is {here}")
        else:
            (folder / name).mkdir(exist_ok=True)
            write_whole(folder / name / FIGURES, json.dumps(figures, indent=1) + "\n")


# One stage.


def _run(stage: AnyStage, folder: Path, name: str, left: float, tell: Callable[[str], None]) -> int:
    """Run a stage in its process, and keep how long it took; returns the status."""
    since = monotonic()
    (folder / name).mkdir(exist_ok=True)
    recipe = recipe_of(stage, folder, name, left) if isinstance(stage, Training) else None
    mark = secrets.token_hex(8)
    shared = {SHARED: str(folder / "turns")} if stage.exclusive else {}
    environment = {"TOKENIZERS_PARALLELISM": "false", **os.environ, **shared, **stage.environment, MARK: mark}
    begun_at = len(read_lines(Progress, folder / name / PROGRESS))
    with (folder / f"{name}.log").open("ab") as log:
        processes = stage.processes if isinstance(stage, Training) else 1
        command = training_command(recipe, folder / name, processes) if recipe else _stage_command(folder, name, left)
        child = subprocess.Popen(command, stdout=log, stderr=log, env=environment, start_new_session=True)
        try:
            while (status := child.poll()) is None and monotonic() - since < left + GRACE_S:
                tell(_how_far(folder, name, begun_at) or f"{monotonic() - since:.0f} s")
                sleep(LOOK_S)
        finally:
            status = ended(child, mark)
    spent = monotonic() - since
    if status == 0 and recipe is not None:
        found = training_figures(stage, recipe, folder / name, spent)
        write_whole(folder / name / FIGURES, json.dumps(found, indent=1) + "\n")
    taken = _numbers(folder, "seconds")
    _keep(folder, seconds={**taken, name: taken.get(name, 0.0) + spent})
    return status


def _stage_command(folder: Path, name: str, left: float) -> list[str]:
    return [sys.executable, "-m", "kernelwright.train.recipes.stage", str(folder), name, str(min(left, 1e9))]


def training_command(recipe: Recipe, place: Path, processes: int) -> list[str]:
    """What a user would call: `kernelwright train`, under torchrun where several processes train."""
    file = write_whole(place / "asked.json", recipe.model_dump_json())
    several = ["-m", "torch.distributed.run", "--standalone", f"--nproc-per-node={processes}"]
    launcher = several if processes > 1 else []
    called = ["-m", "kernelwright", "train", recipe.kind, str(place), "--recipe", str(file), "--json"]
    return [sys.executable, *launcher, *called]


def recipe_of(stage: Training, folder: Path, name: str, left: float) -> Recipe:
    """The recipe of a training stage, with what is left of its time; model and length are those that it began with."""
    place, own = folder / name, stage.model_dump(exclude=set(Training.model_fields))
    asked = RECIPES.validate_python(own)
    given = min(_missing(stage, asked, place), max(LEAST_S, left - START_S - stage.reserve))
    changed: Figures = {"seconds": None if given == inf else given, "data": str(data_of(folder, asked.data))}
    if (place / RECIPE).exists():
        begun = RECIPES.validate_json((place / RECIPE).read_text(encoding="utf-8"))
        changed["model"] = begun.model
    else:
        changed["model"] = model_of(folder, asked.model)
    return RECIPES.validate_python({**own, **changed})


def _missing(stage: Training, asked: Recipe, place: Path) -> float:
    """Seconds of a training's time that earlier calls have left; endless where its steps end it."""
    if asked.seconds is None:
        return inf
    return max(1.0, asked.seconds - float(str(read_figures(place).get("trained_s", 0.0))))


def training_figures(stage: AnyStage, recipe: Recipe, place: Path, spent: float) -> Figures:
    """What a training's own files say, and whether it is done."""
    assert isinstance(stage, Training)
    made = steps(place)
    asked = RECIPES.validate_python(stage.model_dump(exclude=set(Training.model_fields)))
    missing = _missing(stage, asked, place)
    over = missing < inf and recipe.seconds is not None and missing - recipe.seconds < START_S
    times = [one.seconds for one in made]
    each = [after - before for before, after in zip(times[COLD - 1 :], times[COLD:], strict=False) if after > before]
    rows = recipe.groups * recipe.trajectories if isinstance(recipe, Grpo) else recipe.batch
    found: Figures = {
        "steps": made[-1].step, "of": recipe.steps, "model": recipe.model, "waited_share": waited(made), "rows": rows,
        "trained_s": float(str(read_figures(place).get("trained_s", 0.0))) + spent,
        # A run that was given all the time ends before the step for which there is none, and a rest is not worth a start.
        DONE: made[-1].step >= recipe.steps or over,
    }  # fmt: skip
    found |= {"step_s": median(each), "rows_per_s": rows / median(each)} if each else {}
    last: Figures = {**made[-1].figures}
    return found | (columns(made, SHOWN) if isinstance(recipe, Grpo) else last)


def _how_far(folder: Path, name: str, begun_at: int) -> str:
    """Where a training is, and how long it will take; otherwise the last line that the stage has said."""
    made = read_lines(Progress, folder / name / PROGRESS)[begun_at:]
    if not made:
        return _last_line(folder / f"{name}.log")
    first, last = made[0], made[-1]
    each = (last.seconds - first.seconds) / max(1, last.step - first.step)
    shown = ", ".join(
        f"{name} {last.figures[name]:.3g}" for name in ("loss", "reward", "right") if name in last.figures
    )
    return f"step {last.step} of {last.of}, at most {each * (last.of - last.step) / 60:.0f} min left; {shown}"


def _last_line(file: Path) -> str:
    lines = file.read_text(encoding="utf-8", errors="replace").splitlines() if file.exists() else []
    return next((line.strip()[:300] for line in reversed(lines) if line.strip()), "")


def ended(child: "subprocess.Popen[bytes]", mark: str) -> int:
    """The status of a stage's process; if it is still there, it is ended with all that it started.

    torchrun's trainers are in sessions of their own, so they are found by what their environment is marked with.
    """
    if (status := child.poll()) is not None:
        return status
    # It alone: readers of a trainer that end before it are an error to it, and nothing is saved.
    with contextlib.suppress(ProcessLookupError):
        os.kill(child.pid, signal.SIGTERM)
    with contextlib.suppress(subprocess.TimeoutExpired):
        child.wait(STOP_S)
    end = monotonic() + GONE_S
    while (left := list(marked(mark))) and monotonic() < end:
        for pid in left:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        sleep(0.05)
    return child.wait()


def marked(mark: str) -> Iterator[int]:
    """Processes of a stage that still live."""
    for file in Path("/proc").glob("[0-9]*/environ"):
        with contextlib.suppress(OSError):
            if f"{MARK}={mark}".encode() in file.read_bytes():
                yield int(file.parent.name)


# The figures' file.


def _document(folder: Path) -> Figures:
    file = folder / FIGURES
    return json.loads(file.read_text(encoding="utf-8")) if file.exists() else {}


def _keep(folder: Path, **figures: JsonValue) -> Path:
    """Add to the file, which is written whole; with what the stages have found so far."""
    known = _document(folder) | figures
    return write_whole(folder / FIGURES, json.dumps(known, indent=1) + "\n")


def _count(folder: Path, name: str) -> None:
    """One more failure of a stage."""
    known = _numbers(folder, "failures")
    _keep(folder, failures={**known, name: known.get(name, 0.0) + 1})


def _numbers(folder: Path, key: str) -> dict[str, float]:
    found = _document(folder).get(key)
    return {name: float(str(value)) for name, value in found.items()} if isinstance(found, dict) else {}
