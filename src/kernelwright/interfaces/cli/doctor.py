"""`kernelwright doctor`: what this machine can do, and the cure for what it cannot."""

from typing import Annotated

import typer
from rich.markup import escape

from kernelwright import api
from kernelwright.errors import MachineError
from kernelwright.interfaces.cli.app import OUTPUT, suppliers_of

_MARKS = {"ok": "[green]ok     [/]", "lost": "[yellow]lost   [/]", "missing": "[red]missing[/]"}


def doctor(
    context: typer.Context,
    json: Annotated[bool, typer.Option("--json", help="One JSON object a line.")] = False,
) -> None:
    """Look at compilers, GPU and sandbox. Exit code 4 when something needed is missing."""
    checks = api.doctor(suppliers_of(context))
    for check in checks:
        if json:
            print(check.model_dump_json())
        else:
            OUTPUT.print(f"{_MARKS[check.status]} {escape(check.name)}: {escape(check.detail)}")
            if check.cure:
                OUTPUT.print(f"        {escape(check.cure)}")
    if any(check.status == "missing" for check in checks):
        raise typer.Exit(MachineError.exit_code)
