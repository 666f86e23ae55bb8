"""`kernelwright runs`: list the runs in a folder, one line each."""

from pathlib import Path
from typing import Annotated

import typer

from kernelwright.interfaces.cli.console import ERRORS
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
