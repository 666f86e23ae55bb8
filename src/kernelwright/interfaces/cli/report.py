"""`kernelwright report RUN`: a run's summary and its page, also while it is running."""

from pathlib import Path
from typing import Annotated

import typer

from kernelwright import api
from kernelwright.interfaces.cli.app import OUTPUT, suppliers_of


def report(
    context: typer.Context,
    run: Annotated[Path, typer.Argument(help="The run's folder.", show_default=False)],
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="Default: report.html in the run's folder.")
    ] = None,
) -> None:
    """Print a run's summary, write its report as one HTML file, and print the file's path."""
    suppliers = suppliers_of(context)
    file = api.report(run, output, suppliers)
    OUTPUT.print(api.present(run, suppliers))
    print(file)
