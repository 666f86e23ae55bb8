"""`kernelwright admit DIR…`: which tasks can be judged, and why the others cannot."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.markup import escape

from kernelwright.errors import TaskError
from kernelwright.interfaces.cli.console import OUTPUT, plain_table, print_result, watched
from kernelwright.interfaces.cli.options import Isolation, Json, Numerics, Target
from kernelwright.interfaces.cli.words import plain

if TYPE_CHECKING:
    from kernelwright.records.admission import Admission, TaskReport


def admit(  # noqa: PLR0913  a flag is a parameter
    context: typer.Context,
    paths: Annotated[
        list[Path],
        typer.Argument(metavar="PATH", help="Task files, or directories of task files.", show_default=False),
    ],
    target: Target = None,
    lines: Annotated[
        Path, typer.Option("--report", help="The report file. Tasks that it already has are skipped.")
    ] = Path("admission.jsonl"),
    page: Annotated[Path | None, typer.Option("--html", help="Also write the report as an HTML page here.")] = None,
    limit_s: Annotated[float, typer.Option(min=1, help="Seconds that one task may take.")] = 900.0,
    fresh: Annotated[
        bool, typer.Option("--fresh", help="Examine every task again, even if the report has it.")
    ] = False,
    isolation: Isolation = "auto",
    numerics: Numerics = "as-is",
    json: Json = False,
) -> None:
    """Examine tasks: which can be judged, and why not the others?

    Exit code 0: all tasks are fit. 3: at least one is not.
    """
    from kernelwright import api
    from kernelwright.records.policy import Policy

    policy = Policy(isolation=isolation, numerics=numerics)
    request = api.AdmissionRequest(tuple(paths), target, policy, lines, page, limit_s=limit_s, fresh=fresh)
    for flag, file in (("--report", lines), ("--html", page)):
        if file is not None:
            api.must_be_writable(file, flag)
    with watched(context, "run the same command to continue") as suppliers:
        found = api.admit(request, suppliers)
    print_result(found, json, _show)
    raise typer.Exit(0 if found.all_fit else TaskError.exit_code)


def _show(found: "Admission") -> None:
    table = plain_table("task", "standing", "why")
    for task in found.tasks:
        table.add_row(escape(plain(task.name)), _standing(task), escape(plain(_why(task))))
    OUTPUT.print(table)
    fit = sum(task.fit for task in found.tasks)
    skipped = f"; {len(found.skipped)} files are not tasks" if found.skipped else ""
    OUTPUT.print(f"{fit} of {len(found.tasks)} fit on {escape(found.target.name)}{skipped}")


def _standing(task: "TaskReport") -> str:
    if task.fit:
        return "[yellow]fit, warned[/]" if task.warnings else "[green]fit[/]"
    return "[magenta]not examined[/]" if task.reason == "not_examined" else f"[red]{task.reason}[/]"


def _why(task: "TaskReport") -> str:
    if task.fit:
        told = (*task.warnings, *(check for check in task.checks if check.name == "cases"))
        return "\n".join(f"{check.name}: {check.figure}" for check in told)
    # Of a traceback, what raised is in the last line; the report has all of it.
    lines = task.message.strip().splitlines()
    return lines[0] if len(lines) < 2 else f"{lines[0]}\n{lines[-1].strip()}"
