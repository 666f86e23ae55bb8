"""Runs that are there: `runs` lists them, `report` shows one, `resume` goes on with one, `learn` collects from them."""

from pathlib import Path
from typing import Annotated

import typer

from kernelwright.interfaces.cli.console import ERRORS, OUTPUT, suppliers_of, watched
from kernelwright.interfaces.cli.words import ratio


def runs(
    run_dir: Annotated[Path, typer.Option(help="The folder that holds the runs.")] = Path("runs"),
    json: Annotated[bool, typer.Option("--json", help="Print one JSON object per line.")] = False,
) -> None:
    """List the runs in a folder."""
    from kernelwright import api

    found = api.list_runs(run_dir)
    if json:
        for summary in found:
            print(summary.model_dump_json())
        return
    if not found:
        ERRORS.print(f"no runs in {run_dir}: begin one with `kernelwright optimize TASK`")
        return
    width = max(len(summary.folder) for summary in found)
    for summary in found:
        best = ratio(summary.best.speedup_eager, summary.best.verdict) if summary.best else "-"
        state = "complete" if summary.complete else "can be resumed"
        where = f"{summary.folder:<{width}}  {summary.target.name:<6}"
        print(f"{where} {summary.attempts:>5} attempts  {best}  {state}")


def report(
    context: typer.Context,
    run: Annotated[Path, typer.Argument(metavar="RUN", help="The run's folder.", show_default=False)],
    output: Annotated[
        Path | None,
        typer.Option("--output", "-o", help="The HTML file to write. Default: report.html in the run's folder."),
    ] = None,
) -> None:
    """Print a run's summary and write its report as one HTML file.

    Prints the file's path last.
    """
    from kernelwright import api

    suppliers = suppliers_of(context)
    file = api.report(run, output, suppliers)
    OUTPUT.print(api.present(run, suppliers))
    print(file)


def resume(
    context: typer.Context,
    run: Annotated[Path, typer.Argument(metavar="RUN", help="The run's folder.", show_default=False)],
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="Write the best kernel to this file, as a drop-in ModelNew.")
    ] = None,
    json: Annotated[bool, typer.Option("--json", help="Print the result as JSON.")] = False,
) -> None:
    """Continue a run. No finished attempt is lost or evaluated twice."""
    from kernelwright import api
    from kernelwright.interfaces.cli.ending import end

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
