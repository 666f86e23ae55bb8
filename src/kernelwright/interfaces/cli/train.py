"""`kernelwright train data|sft|grpo|judge|pipeline`: data sets of verified kernels, and models trained on them."""

from pathlib import Path
from time import monotonic
from typing import TYPE_CHECKING, Annotated, Literal, NamedTuple

import typer
from pydantic import JsonValue
from rich.markup import escape
from rich.table import Table

from kernelwright.errors import UsageError
from kernelwright.interfaces.cli.console import ERRORS, OUTPUT, interruptible, suppliers_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from kernelwright import api

_DATA, _RECIPE, _PIPELINE = "For data", "For recipes", "For pipeline"
AGAIN = "run the same command to go on"


def _option(words: str, panel: str | None = None, metavar: str | None = None) -> object:
    return typer.Option(metavar=metavar, help=words, rich_help_panel=panel)


Sources = Annotated[
    list[str] | None,
    typer.Option(
        "--from",
        metavar="SOURCE",
        help="author, compile (what torch.compile writes here), a folder of runs, a file of pairs (KernelBook's format), or a "
        "model as --model spells it, which writes kernels for the tasks of --data. Repeatable.",
        rich_help_panel=_DATA,
    ),
]
Settings = Annotated[
    list[str] | None,
    typer.Option(
        "--set",
        metavar="NAME=VALUE",
        help="A setting of the recipe, over the file's; of a pipeline STAGE.NAME=VALUE, or NAME=VALUE in every stage that has "
        "it. Repeatable.",
        rich_help_panel=_RECIPE,
    ),
]
Again = Annotated[
    bool, typer.Option("--revalidate", help="Judge every sample again, repair or drop.", rich_help_panel=_DATA)
]
Effort = Annotated[
    Literal["search", "verify"] | None, _option("verify: right or wrong, without a time. Default: search.")
]
Exams = Annotated[
    list[Path] | None,
    typer.Option(
        "--decontaminate",
        metavar="DIR",
        help="Drop samples that are the same as a task below DIR, or nearly; without --from nothing is added. Repeatable.",
        rich_help_panel=_DATA,
    ),
]


def train(  # noqa: PLR0913  a flag is a parameter
    context: typer.Context,
    what: Annotated[
        Literal["data", "sft", "grpo", "judge", "pipeline"],
        typer.Argument(
            metavar="WHAT",
            help="data: collect verified kernels. sft, grpo, judge: train a model. pipeline: all stages of a recipe.",
            show_default=False,
        ),
    ],
    folder: Annotated[
        Path, typer.Argument(metavar="FOLDER", help="The data set's or the training run's folder.", show_default=False)
    ],
    sources: Sources = None,
    count: Annotated[int, _option("Samples that the data set is to have.", _DATA)] = 200,
    again: Again = False,
    exams: Exams = None,
    recipe: Annotated[
        str | None,
        _option("A TOML file with settings, or another run's recipe.json. Of a pipeline also a name.", _RECIPE),
    ] = None,
    model: Annotated[str | None, _option("A checkpoint's folder, an adapter's, or a .gguf file.", _RECIPE)] = None,
    data: Annotated[Path | None, _option("The data set's folder.")] = None,
    settings: Settings = None,
    only: Annotated[list[str] | None, _option("No other stages than these. Repeatable.", _PIPELINE, "STAGE")] = None,
    plan: Annotated[bool, typer.Option("--plan", help="Show the stages and end.", rich_help_panel=_PIPELINE)] = False,
    target: Annotated[str | None, _option("{targets}. Default: the GPU if there is one, else cpu.")] = None,
    seconds: Annotated[float | None, _option("Stop after so long; the same command goes on.")] = None,
    workers: Annotated[int | None, _option("Referee workers; more than one only with effort verify.")] = None,
    effort: Effort = None,
    json: Annotated[bool, typer.Option("--json", help="Print the result as JSON.")] = False,
) -> None:
    """Make a data set of verified kernels, or train a model on one and on measured rewards.

    The trained model is FOLDER/model; use it with --model hf:FOLDER/model. Training needs: pip install
    'kernelwright[train]'.
    """
    from kernelwright import api

    flags = {
        "model": model, "data": str(data) if data else None, "target": None if what in ("sft", "judge") else target,
        "workers": workers, "effort": effort, "seconds": None if what == "pipeline" else seconds,
    }  # fmt: skip
    given: dict[str, JsonValue] = {name: value for name, value in flags.items() if value is not None}
    with interruptible(lambda: AGAIN):
        if what == "data":
            request = api.DataRequest(
                folder, tuple(sources or ("author",)), data, count=count, target=target, seconds=seconds,
                workers=workers or 1, effort=effort or "search",
            )  # fmt: skip
            made = _data(context, request, again, json) if sources or again or not exams else {}
            made |= _decontaminate(context, request, exams, json) if exams else {}
            if json:
                OUTPUT.print_json(data=made if len(made) > 1 else next(iter(made.values())))
        elif what == "pipeline":
            read = api.read_pipeline(recipe or "", {**given, **_settings(settings or [])})
            _pipeline(context, folder, read, _Call(tuple(only or ()), seconds, plan, json))
        else:
            file = Path(recipe) if recipe else None
            _train(context, folder, api.read_recipe(file, {**given, "kind": what, **_settings(settings or [])}), json)


def _settings(texts: list[str]) -> dict[str, JsonValue]:
    """NAME=VALUE as TOML reads the value; a bare word is a text."""
    import tomllib

    found: dict[str, JsonValue] = {}
    for text in texts:
        name, equals, value = text.partition("=")
        if not equals:
            raise UsageError(f"--set {text!r} must be NAME=VALUE, such as learning_rate=1e-5")
        try:
            found[name] = tomllib.loads(f"value = {value}")["value"]
        except tomllib.TOMLDecodeError:
            found[name] = value
    return found


def _data(context: typer.Context, request: "api.DataRequest", again: bool, quiet: bool) -> dict[str, JsonValue]:
    """What came of it, which is told in words unless `quiet`."""
    from kernelwright import api

    suppliers = suppliers_of(context)
    with ERRORS.status("reading") as status:
        found: api.Revalidation | api.DataReport = (
            api.revalidate_data(request, suppliers, lambda n, of: status.update(f"{n} of {of} samples"))
            if again
            else api.make_data(request, suppliers, lambda tally: status.update(_so_far(tally, request.count)))
        )
    if not quiet:
        OUTPUT.print(_in_words(found, request.folder))
    return {"revalidated" if again else "made": found.model_dump(mode="json")}


def _decontaminate(
    context: typer.Context, request: "api.DataRequest", exams: list[Path], quiet: bool
) -> dict[str, JsonValue]:
    from kernelwright import api

    with ERRORS.status("reading") as status:
        found = api.decontaminate(request.folder, exams, suppliers_of(context), status.update, request.workers)
    said: dict[str, JsonValue] = {"decontaminated": found.model_dump(mode="json")}
    if quiet:
        return said
    near = len(found.dropped) - found.same
    OUTPUT.print(
        f"{len(found.dropped)} of {found.samples} samples dropped: {found.same} have the structure of one of {found.tasks} "
        f"tasks, {near} are nearly one; {len(found.unread)} files could not be read as tasks"
    )
    OUTPUT.print(escape(str(request.folder / api.DECONTAMINATED)))
    return said


def _in_words(found: "api.Revalidation | api.DataReport", folder: Path) -> str:
    from kernelwright import api

    if isinstance(found, api.Revalidation):
        return (
            f"{found.samples} samples: {found.right} right, {found.repaired} repaired, {sum(found.dropped.values())} dropped, "
            f"{found.unjudged} not judged; {found.broken_share:.1%} were broken by what is installed here"
        )
    return f"{found.samples} samples in {escape(str(folder))}, {found.added} of them new; see its card.md"


def _so_far(tally: "api.Tally", count: int) -> str:
    rate = tally.kept / tally.seconds if tally.seconds else 0.0
    left = f", about {(count - tally.kept) / rate / 60:.0f} min left" if rate else ""
    lost = sum(tally.fates.values())
    return f"{tally.kept} of {count} samples, {lost} not kept{left}"


def _train(context: typer.Context, folder: Path, recipe: "api.Recipe", json: bool) -> None:
    from kernelwright import api

    with ERRORS.status("loading the model") as status:
        found = api.train(recipe, folder, suppliers_of(context), lambda step: status.update(_line(step)))
    if json:
        last = found.last.model_dump(mode="json") if found.last else None
        OUTPUT.print_json(data={"model": str(found.model), "report": str(found.report), "last": last})
        return
    OUTPUT.print(f"model: {escape(str(found.model))}   (--model hf:{escape(str(found.model))})")
    print(found.report)


def _line(step: "api.TrainingProgress") -> str:
    """Step, time left, and the figures that people look at."""
    shown = [
        f"{name} {step.figures[name]:.3g}" for name in ("reward", "right", "speedup", "loss") if name in step.figures
    ]
    left = step.seconds / max(1, step.step) * (step.of - step.step)
    return f"step {step.step} of {step.of}, about {left / 60:.0f} min left; {', '.join(shown)}"


class _Call(NamedTuple):
    """How a pipeline is called."""

    only: tuple[str, ...]
    seconds: float | None
    plan: bool
    """Show it and end."""
    json: bool


def _pipeline(context: typer.Context, folder: Path, pipeline: "api.Pipeline", call: _Call) -> None:
    """The plan first, then a line for each stage that ended."""
    from kernelwright import api

    planned = api.plan_pipeline(folder, pipeline, call.only)
    (OUTPUT if call.plan else ERRORS).print(_table(escape(pipeline.about), planned))
    if call.plan:
        return
    since, longest = monotonic(), sum(one.needs for one in planned if one.state not in ("done", "not asked for"))
    ERRORS.print(f"at least {longest / 60:.0f} min are left to do")
    with ERRORS.status("starting") as status:

        def heard(event: "api.StageEvent") -> None:
            left = f", {call.seconds - (monotonic() - since):.0f} s of the call left" if call.seconds else ""
            line = f"{event.stage} ({event.place} of {event.of}{'' if event.over else left}): {escape(event.words)}"
            if event.over:
                ERRORS.print(line)
            else:
                status.update(line)

        file = api.run_pipeline(pipeline, folder, suppliers_of(context), heard, call.only, call.seconds)
    print(file.read_text(encoding="utf-8") if call.json else file)
    if failed := [one.name for one in api.plan_pipeline(folder, pipeline) if one.state == "failed"]:
        ERRORS.print(f"left out after two failures: {', '.join(failed)}; --only NAME tries one again")
        raise typer.Exit(1)


def _table(about: str, planned: "Sequence[api.PlannedStage]") -> Table:
    found = Table("stage", "kind", "state", "needs", "took", title=about)
    for one in planned:
        took = "" if one.took is None else f"{one.took:.0f} s"
        found.add_row(one.name, one.kind, one.state, f"{one.needs:.0f} s", took)
    return found
