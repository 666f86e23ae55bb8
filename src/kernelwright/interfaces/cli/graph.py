"""`kernelwright graph build | show | merge | stats | check`: the graph of techniques, grown, looked at and examined.

`kernelwright techniques WORDS`: what to try against a bottleneck, for an operator family, a device and a language.
"""

from json import dumps
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer
from rich.markup import escape

from kernelwright.errors import UsageError
from kernelwright.interfaces.cli.console import ERRORS, OUTPUT, print_result, watched
from kernelwright.interfaces.cli.options import Json
from kernelwright.interfaces.cli.words import plain

if TYPE_CHECKING:
    from kernelwright import api

_OUT = "The graph to write. build adds to one that is there; merge needs it."


def graph(  # noqa: PLR0913  a flag is a parameter
    context: typer.Context,
    action: Annotated[
        Literal["build", "show", "merge", "stats", "check"], typer.Argument(help="What to do.", show_default=False)
    ],
    paths: Annotated[
        list[Path] | None,
        typer.Argument(
            metavar="PATH",
            help="build: run folders, .json files of trajectories, sources with switches. Else: graph files; none: the one "
            "that comes with the package.",
            show_default=False,
        ),
    ] = None,
    out: Annotated[Path | None, typer.Option("--out", "-o", help=_OUT)] = None,
    target: Annotated[str | None, typer.Option(help="Where build judges steps: {targets}.")] = None,
    known: Annotated[
        bool, typer.Option("--known", help="build: drop trajectories with a method that no technique is called by.")
    ] = False,
    model: Annotated[
        list[str] | None,
        typer.Option(help="build: the paths are tasks; this model reasons about them and names its steps."),
    ] = None,
    page: Annotated[Path | None, typer.Option("--html", help="show: the page to write. Default: graph.html.")] = None,
    svg: Annotated[Path | None, typer.Option("--svg", help="show: the picture alone, for papers.")] = None,
    json: Json = False,
) -> None:
    """Grow, look at and examine the graph of techniques.

    Exit code 0: done. 2: a graph cannot be read. 3: check found faults, or build dropped a trajectory.
    """
    from kernelwright import api

    files = tuple(paths or ())
    if action == "build":
        models = api.read_models(model or ())
        _build(context, api.BuildRequest(files, _needed(out, "build"), target, not known, models), json)
    elif action == "merge":
        if not files:
            raise UsageError("graph merge needs graphs to put together: name their files")
        print_result(api.merge_graphs(files, _needed(out, "merge")), json, _show_stats)
    elif action == "show":
        _show(files, page, svg, json)
    elif action == "stats":
        print_result(api.graph_stats(_one(files)), json, _show_stats)
    else:
        _check(api.graph_faults(_one(files)), json)


def _needed(out: Path | None, action: str) -> Path:
    if out is None:
        raise UsageError(f"graph {action} writes a graph: say where with --out GRAPH.json")
    return out


def _one(files: tuple[Path, ...]) -> Path | None:
    if len(files) > 1:
        raise UsageError(
            f"{len(files)} graphs are named and one is looked at: put them together with graph merge first"
        )
    return files[0] if files else None


def _build(context: typer.Context, request: "api.BuildRequest", json: bool) -> None:
    from kernelwright import api

    if not request.sources:
        raise UsageError("graph build needs run folders, .json files of trajectories, or sources with switches")
    with watched(context, "run the same command to continue") as suppliers:
        found = api.build_graph(request, suppliers)
    if json:
        print(found.model_dump_json(indent=2))
    else:
        OUTPUT.print(f"{found.merged} trajectories merged, {found.known} were there already")
        for reason in found.dropped:
            OUTPUT.print(f"[yellow]dropped[/] {escape(plain(reason))}")
    raise typer.Exit(3 if found.dropped else 0)


def _show(files: tuple[Path, ...], page: Path | None, svg: Path | None, json: bool) -> None:
    from kernelwright import api

    written = [str(file) for file in api.show_graph(_one(files), page or (None if svg else Path("graph.html")), svg)]
    if json:
        print(dumps({"written": written}, indent=2))
    else:
        OUTPUT.print("\n".join(map(escape, written)))


def _show_stats(found: "api.GraphStats") -> None:
    for name, value in found.model_dump().items():
        text = ", ".join(f"{key}: {count}" for key, count in value.items()) if isinstance(value, dict) else value
        OUTPUT.print(f"{name:14}{escape(str(text))}")


def _check(faults: tuple[str, ...], json: bool) -> None:
    if json:
        print(dumps({"faults": faults}, indent=2))
    else:
        OUTPUT.print("\n".join(map(escape, faults)) or "nothing is at fault")
    raise typer.Exit(3 if faults else 0)


def techniques(  # noqa: PLR0913  a flag is a parameter
    words: Annotated[list[str] | None, typer.Argument(help="What it is about, in words.", show_default=False)] = None,
    bottleneck: Annotated[
        str, typer.Option(help="What a profile named, such as memory, latency, launch or uncoalesced.")
    ] = "unknown",
    family: Annotated[str, typer.Option(help="Of the task's operations, such as reduction or contraction.")] = "",
    kind: Annotated[str | None, typer.Option(help="Kind of device, such as cpu or cuda.")] = None,
    language: Annotated[str | None, typer.Option(help="Language to write: {languages}.")] = None,
    device: Annotated[str, typer.Option(help="Whose measured gains count first, such as 'NVIDIA H200'.")] = "",
    tried: Annotated[list[str] | None, typer.Option(help="A technique that is not offered again. Repeatable.")] = None,
    limit: Annotated[int, typer.Option(min=1, help="How many answers at most.")] = 5,
    whole: Annotated[bool, typer.Option("--whole", help="Show whole cards, with their examples.")] = False,
    json: Json = False,
) -> None:
    """Look up what to try next.

    Exit code 0: something was found. 1: nothing applies.
    """
    from kernelwright import api

    asked = {"kind": kind, "language": language, "family": family, "device": device, "tried": tried or []}
    found = api.find_techniques(" ".join(words or ()), asked, bottleneck, limit)
    if json:
        print(dumps([hit.model_dump(mode="json") for hit in found], indent=2))
    for hit in () if json else found:
        gained = f", {hit.gain:.2f} times as fast where it was measured" if hit.gain else ", not measured"
        text = api.card_words(hit.technique) if whole else f"{hit.technique.name}: {hit.technique.title}{gained}"
        OUTPUT.print(escape(text))
    if not found:
        ERRORS.print("nothing matches: ask in other words, or leave out --kind, --language, --family or --tried")
    raise typer.Exit(0 if found else 1)
