"""`kernelwright report RUN`: write a run's page, also while it is running."""

from pathlib import Path
from typing import Annotated

import typer

from kernelwright import api
from kernelwright.interfaces.cli.app import suppliers_of


def report(
    context: typer.Context,
    run: Annotated[Path, typer.Argument(help="The run's folder.", show_default=False)],
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="Default: report.html in the run's folder.")
    ] = None,
) -> None:
    """Write a run's report as one HTML file and print its path."""
    print(api.report(run, output, suppliers_of(context)))
