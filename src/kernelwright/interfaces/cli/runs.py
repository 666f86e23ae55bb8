"""Runs that are there: `runs` lists them, `report` shows one, `resume` goes on with one, `learn` collects from them."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from kernelwright.errors import StoreError
from kernelwright.interfaces.cli.console import ERRORS, OUTPUT, suppliers_of, watched
from kernelwright.interfaces.cli.options import Json, Output, Run
from kernelwright.interfaces.cli.words import plain

if TYPE_CHECKING:
    from kernelwright import api


def runs(
    run_dir: Annotated[Path, typer.Option(help="The folder that holds the runs.")] = Path("runs"),
    json: Annotated[bool, typer.Option("--json", help="Print one JSON object per line.")] = False,
) -> None:
    """List the runs in a folder.

    Exit code 5: at least one cannot be read; the others are listed all the same.
    """
    from kernelwright.engine.listing import list_runs, list_turns
    from kernelwright.engine.summary import UnreadableRun

    found = list_runs(run_dir)
    if not found and not json:
        ERRORS.print(f"no runs in {run_dir}: begin one with `kernelwright optimize TASK`")
    width = max((len(each.folder) for each in found), default=0)
    for each in found:
        print(each.model_dump_json() if json else f"{each.folder:<{width}}  {_line(each)}")
    for line in list_turns():
        ERRORS.print(line)
    if any(isinstance(each, UnreadableRun) for each in found):
        raise typer.Exit(StoreError.exit_code)


def _line(found: "api.RunSummary | api.UnreadableRun") -> str:
    from kernelwright.engine.summary import UnreadableRun
    from kernelwright.records.answer import BRIEF, compared

    if isinstance(found, UnreadableRun):
        return f"unreadable: {plain(found.error)}"
    best = found.best if found.best and found.best.verdict else None
    answer = compared(best.speedup_eager, best.verdict) if best else BRIEF.get(found.answer, found.answer)
    state = "running" if found.running else "can be resumed" if found.goes_on else "complete"
    attempts = f"{found.attempts:>5} {'attempt ' if found.attempts == 1 else 'attempts'}"
    return f"{found.target.name:<6} {attempts}  {answer}  {state}{', unproved' if found.unproved else ''}"


def report(
    context: typer.Context,
    runs: Annotated[
        list[Path],
        typer.Argument(metavar="RUN", help="A run's folder; several, or a folder of runs.", show_default=False),
    ],
    output: Annotated[
        Path | None,
        typer.Option(
            "--output",
            "-o",
            help="The HTML file to write. Default: report.html in the run's folder; of several runs, overview.html in "
            "the folder that holds them.",
        ),
    ] = None,
    attempt: Annotated[
        list[int] | None,
        typer.Option(help="Of a long run, show this attempt in full too; may be given again.", show_default=False),
    ] = None,
    figures: Annotated[
        Path | None, typer.Option(help="Write the charts as SVG files into this folder.", show_default=False)
    ] = None,
) -> None:
    """Print a run's summary and write its report as one HTML file; of several runs, compare them.

    Prints the files' paths last.
    """
    from kernelwright import api
    from kernelwright.interfaces.cli.ending import linked

    found = api.runs_at(runs)
    if len(found) == 1:
        file, shown = api.report_and_present(found[0], output, suppliers_of(context), attempt or ())
    else:
        file, shown = api.overview(found, output)
    OUTPUT.print(shown)
    for chart in api.figures(found, figures) if figures is not None else ():
        OUTPUT.print(linked(chart))
    OUTPUT.print(linked(file))


def resume(
    context: typer.Context,
    run: Run,
    output: Output = None,
    json: Json = False,
) -> None:
    """Continue a run. No finished attempt is lost or evaluated twice."""
    from kernelwright import api
    from kernelwright.interfaces.cli.ending import end, must_spare_task_of

    if output is not None:
        api.must_be_writable(output, "-o")
        must_spare_task_of(run, output)
    with watched(context, f"continue with: kernelwright resume {run}") as suppliers:
        result = api.resume(run, suppliers)
    end(result, json=json, output=output)


def learn(
    runs: Annotated[list[Path], typer.Argument(metavar="RUN", help="The runs' folders.", show_default=False)],
    output: Annotated[Path, typer.Option("--output", "-o", help="The file to write.")] = Path("experience.jsonl"),
) -> None:
    """Collect what past runs taught, for `optimize --predictor`."""
    from kernelwright import api

    count = api.learn(runs, output)
    ERRORS.print(f"{output}: {count} candidates of {len(runs)} {'run' if len(runs) == 1 else 'runs'}")
