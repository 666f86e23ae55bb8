"""`kernelwright runs`: the runs in a folder, one line each."""

from pathlib import Path
from typing import Annotated

import typer

from kernelwright import api
from kernelwright.interfaces.cli.app import ERRORS
from kernelwright.interfaces.cli.words import ratio


def runs(
    run_dir: Annotated[Path, typer.Option(help="Where the runs are.")] = Path("runs"),
    json: Annotated[bool, typer.Option("--json", help="One JSON object a line.")] = False,
) -> None:
    """List the runs in a folder."""
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
