"""`kernelwright train data|sft|grpo|judge`: data sets of verified kernels, and models trained on them."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer
from rich.markup import escape

from kernelwright.errors import UsageError
from kernelwright.interfaces.cli.console import ERRORS, OUTPUT, interruptible, suppliers_of

if TYPE_CHECKING:
    from kernelwright import api

_DATA, _RECIPE = "For data", "For sft, grpo and judge"
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
        help="A setting of the recipe, over the file's. Repeatable.",
        rich_help_panel=_RECIPE,
    ),
]


def train(  # noqa: PLR0913  a flag is a parameter
    context: typer.Context,
    what: Annotated[
        Literal["data", "sft", "grpo", "judge"],
        typer.Argument(
            metavar="WHAT", help="data: collect verified kernels. The others: train a model.", show_default=False
        ),
    ],
    folder: Annotated[
        Path, typer.Argument(metavar="FOLDER", help="The data set's or the training run's folder.", show_default=False)
    ],
    sources: Sources = None,
    count: Annotated[int, _option("Samples that the data set is to have.", _DATA)] = 200,
    again: Annotated[
        bool, typer.Option("--revalidate", help="Judge every sample again, repair or drop.", rich_help_panel=_DATA)
    ] = False,
    recipe: Annotated[Path | None, _option("A TOML file with settings, or another run's recipe.json.", _RECIPE)] = None,
    model: Annotated[str | None, _option("A checkpoint's folder, an adapter's, or a .gguf file.", _RECIPE)] = None,
    data: Annotated[Path | None, _option("The data set's folder.")] = None,
    settings: Settings = None,
    target: Annotated[str | None, _option("{targets}. Default: the GPU if there is one, else cpu.")] = None,
    seconds: Annotated[float | None, _option("Stop after so long; the same command goes on.")] = None,
    workers: Annotated[int | None, _option("Referee workers; more than one only with effort verify.")] = None,
    effort: Annotated[
        Literal["search", "verify"] | None, _option("verify: right or wrong, without a time. Default: search.")
    ] = None,
    json: Annotated[bool, typer.Option("--json", help="Print the result as JSON.")] = False,
) -> None:
    """Make a data set of verified kernels, or train a model on one and on measured rewards.

    The trained model is FOLDER/model; use it with --model hf:FOLDER/model.
    """
    shared: dict[str, Any] = {"target": target, "seconds": seconds, "workers": workers, "effort": effort}
    given = {name: value for name, value in shared.items() if value is not None}
    with interruptible(AGAIN):
        if what == "data":
            request = {"sources": tuple(sources or ("author",)), "count": count, "tasks": data, **given}
            _data(context, folder, request, again, json)
            return
        if what != "grpo":
            given.pop("target", None)
        named: dict[str, Any] = {"kind": what, "model": model, "data": str(data) if data else None}
        flags = {
            **given,
            **{name: value for name, value in named.items() if value is not None},
            **_settings(settings or []),
        }
        _train(context, folder, recipe, flags, json)


def _settings(texts: list[str]) -> dict[str, Any]:
    """NAME=VALUE as TOML reads the value; a bare word is a text."""
    import tomllib

    found: dict[str, Any] = {}
    for text in texts:
        name, equals, value = text.partition("=")
        if not equals:
            raise UsageError(f"--set {text!r} must be NAME=VALUE, such as learning_rate=1e-5")
        try:
            found[name] = tomllib.loads(f"value = {value}")["value"]
        except tomllib.TOMLDecodeError:
            found[name] = value
    return found


def _data(context: typer.Context, folder: Path, given: dict[str, Any], again: bool, json: bool) -> None:
    from kernelwright import api

    request, count = api.DataRequest(folder, **given), given["count"]
    suppliers = suppliers_of(context)
    with ERRORS.status("reading") as status:
        if again:
            found: Any = api.revalidate_data(request, suppliers, lambda n, of: status.update(f"{n} of {of} samples"))
        else:
            found = api.make_data(request, suppliers, lambda tally: status.update(_so_far(tally, count)))
    if json:
        print(found.model_dump_json(indent=2))
    elif again:
        OUTPUT.print(
            f"{found.samples} samples: {found.right} right, {found.repaired} repaired, {sum(found.dropped.values())} dropped, "
            f"{found.unjudged} not judged; {found.broken_share:.1%} were broken by what is installed here"
        )
    else:
        OUTPUT.print(f"{found.samples} samples in {escape(str(folder))}, {found.added} of them new; see its card.md")


def _so_far(tally: Any, count: int) -> str:  # noqa: ANN401  the engine's own record
    rate = tally.kept / tally.seconds if tally.seconds else 0.0
    left = f", about {(count - tally.kept) / rate / 60:.0f} min left" if rate else ""
    lost = sum(tally.fates.values())
    return f"{tally.kept} of {count} samples, {lost} not kept{left}"


def _train(context: typer.Context, folder: Path, recipe: Path | None, flags: dict[str, Any], json: bool) -> None:
    from kernelwright import api

    read = api.read_recipe(recipe, flags)
    with ERRORS.status("loading the model") as status:
        found = api.train(read, folder, suppliers_of(context), lambda step: status.update(_line(step)))
    if json:
        last = found.progress[-1].model_dump(mode="json") if found.progress else None
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
