"""`kernelwright resume RUN`: continue a run that was killed, interrupted or stopped by an error."""

from pathlib import Path
from typing import Annotated

import typer

from kernelwright.interfaces.cli.console import watched


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
