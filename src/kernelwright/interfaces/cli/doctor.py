"""`kernelwright doctor`: what this machine can do, and how to fix what it cannot."""

from typing import Annotated

import typer
from rich.markup import escape

from kernelwright.errors import MachineError
from kernelwright.interfaces.cli.console import OUTPUT, suppliers_of

_MARKS = {"ok": "[green]ok     [/]", "lost": "[yellow]lost   [/]", "missing": "[red]missing[/]"}


def doctor(
    context: typer.Context,
    json: Annotated[bool, typer.Option("--json", help="Print one JSON object per line.")] = False,
) -> None:
    """Check this machine's compilers, GPU and sandbox.

    Exit code 4: something that is needed is missing.
    """
    from kernelwright import api

    checks = api.doctor(suppliers_of(context))
    for check in checks:
        if json:
            print(check.model_dump_json())
        else:
            OUTPUT.print(f"{_MARKS[check.status]} {escape(check.name)}: {escape(check.detail)}")
            if check.fix:
                OUTPUT.print(f"        {escape(check.fix)}")
    if any(check.status == "missing" for check in checks):
        raise typer.Exit(MachineError.exit_code)
