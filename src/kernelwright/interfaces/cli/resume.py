"""`kernelwright resume RUN`: go on with a run that was killed, interrupted or broken off."""

from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer

from kernelwright import api
from kernelwright.interfaces.cli.app import ERRORS, suppliers_of
from kernelwright.interfaces.cli.ending import end
from kernelwright.interfaces.cli.guard import interruptible
from kernelwright.interfaces.cli.screen import Screen


def resume(
    context: typer.Context,
    run: Annotated[Path, typer.Argument(help="The run's folder.", show_default=False)],
    output: Annotated[Path | None, typer.Option("--output", "-o", help="Write the best kernel here.")] = None,
    json: Annotated[bool, typer.Option("--json", help="Print the result as JSON.")] = False,
) -> None:
    """Go on with a run; no finished attempt is lost, none is evaluated twice."""
    with interruptible(f"go on with: kernelwright resume {run}"), Screen(ERRORS) as screen:
        result = api.resume(run, replace(suppliers_of(context), listener=screen))
    end(result, json=json, output=output)
