"""`kernelwright admit DIR…`: which tasks can be judged, and why the others cannot."""

from dataclasses import replace
from pathlib import Path
from typing import Annotated, Literal

import typer
from rich.markup import escape
from rich.table import Table

from kernelwright import api
from kernelwright.errors import TaskError
from kernelwright.interfaces.cli.app import ERRORS, OUTPUT, suppliers_of
from kernelwright.interfaces.cli.guard import interruptible
from kernelwright.interfaces.cli.screen import Screen
from kernelwright.interfaces.cli.words import plain
from kernelwright.records.admission import Admission, TaskReport
from kernelwright.records.policy import Policy


def admit(  # noqa: PLR0913  a flag is a parameter
    context: typer.Context,
    paths: Annotated[list[Path], typer.Argument(help="Task files, and directories of them.", show_default=False)],
    target: Annotated[
        str | None, typer.Option(help="cpu, cuda, or sm_80 … sm_120. Default: the GPU if there is one.")
    ] = None,
    lines: Annotated[Path, typer.Option("--report", help="The report that is continued.")] = api.ADMISSION,
    page: Annotated[Path | None, typer.Option("--html", help="Write a page of it here.")] = None,
    limit_s: Annotated[float, typer.Option(min=1, help="Seconds that one task may take.")] = 900.0,
    fresh: Annotated[bool, typer.Option("--fresh", help="Examine also what the report has already.")] = False,
    isolation: Annotated[Literal["auto", "strict"], typer.Option(help="strict: refuse a weaker sandbox.")] = "auto",
    json: Annotated[bool, typer.Option("--json", help="Print all of it as JSON.")] = False,
) -> None:
    """Examine a directory of tasks. Exit code 0: all of them are fit; 3: one is not."""
    request = api.AdmissionRequest(
        tuple(paths), target, Policy(isolation=isolation), lines, page, limit_s=limit_s, fresh=fresh
    )
    with interruptible("the same command goes on from there"), Screen(ERRORS) as screen:
        found = api.admit(request, replace(suppliers_of(context), listener=screen))
    if json:
        print(found.model_dump_json(indent=2))
    else:
        _show(found)
    raise typer.Exit(0 if found.all_fit else TaskError.exit_code)


def _show(found: Admission) -> None:
    table = Table(box=None, padding=(0, 2, 0, 0), header_style="dim")
    for name in ("task", "standing", "why"):
        table.add_column(name, overflow="fold")
    for task in found.tasks:
        table.add_row(escape(plain(task.name)), _standing(task), escape(plain(_why(task))))
    OUTPUT.print(table)
    fit = sum(task.fit for task in found.tasks)
    skipped = f"; {len(found.skipped)} files are no tasks" if found.skipped else ""
    OUTPUT.print(f"{fit} of {len(found.tasks)} fit on {escape(found.target.name)}{skipped}")


def _standing(task: TaskReport) -> str:
    if task.fit:
        return "[yellow]fit, warned[/]" if task.warnings else "[green]fit[/]"
    return "[magenta]not examined[/]" if task.reason == "not_examined" else f"[red]{task.reason}[/]"


def _why(task: TaskReport) -> str:
    if task.fit:
        return "\n".join(f"{check.name}: {check.figure}" for check in task.warnings)
    # Of a traceback, what raised is in the last line; the report has all of it.
    lines = task.message.strip().splitlines()
    return lines[0] if len(lines) < 2 else f"{lines[0]}\n{lines[-1].strip()}"
